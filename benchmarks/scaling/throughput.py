"""How many round trips one to eight processes carry on a store, and what capacity.py foretells.

    python -m benchmarks.scaling.throughput [--stores PostgreSQL] [--processes 1 2 4 8] [--rounds 4]

A round trip is a run that asks, and its answer. Clients on this machine send each request to the
next process, so that mostly one asks and another carries the answer out. They wait for each
response: so many at once as there are clients, sixteen for each process.

Beside the processes that are measured stands one alone, on a store of its own; both are pressed in
turns, so that whatever else the machine does slows both. What the one costs is all that the model
is given, with the cores that others leave us meanwhile. With it, it has to foretell the points of
the many.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from benchmarks.contenders.process import Server
from benchmarks.measuring.load import Conversation, drive
from benchmarks.measuring.requests import new_thread
from benchmarks.measuring.resuming import approving
from benchmarks.scaling.capacity import MEASURED, throughput
from benchmarks.scaling.observed import OBSERVED, Observed

CLIENTS = 16
"""Of each process."""

WARM_UP = 0.5
"""Seconds that do not count."""

POOL = 5
"""Connections of one process to PostgreSQL, so that eight processes leave some to others."""


@dataclass(frozen=True, slots=True)
class Point:
    """What some processes did in a while.

    Attributes:
        rate: round trips a second.
        bridge_ms: CPU of all processes for one round trip.
        store_ms: the same of the store's servers.
        client_ms: the same of the clients.
        cores: what others left us of the machine.
        connections: to the store, of all processes.
    """

    rate: float
    bridge_ms: float
    store_ms: float
    client_ms: float
    cores: float
    connections: float


@dataclass(frozen=True, slots=True)
class _Serving:
    store: Observed
    servers: Sequence[Server]

    def cpu(self) -> tuple[float, float, float, float]:
        """CPU seconds of the bridge, the store, the clients, and of the whole machine."""
        own = sum(server.cpu_seconds for server in self.servers)
        return own, self.store.cpu(), time.process_time(), _machine()

    def press(self, seconds: float) -> Point:
        """Hold round trips for so long, as many at once as the processes have clients."""
        ports, done = [server.port for server in self.servers], [0]
        clients = CLIENTS * len(ports)
        drive(ports, _for(WARM_UP, [0]), clients)
        self.store.analyse()
        before = self.cpu()
        took = drive(ports, _for(seconds, done), clients)
        used = [now - then for now, then in zip(self.cpu(), before, strict=True)]
        bridge, store, client = (1_000 * seconds / done[0] for seconds in used[:3])
        cores = (os.cpu_count() or 1) - (used[3] - sum(used[:3])) / took
        connections = self.store.connections()
        return Point(done[0] / took, bridge, store, client, cores, connections)


def _machine() -> float:
    """CPU seconds that all that runs on the machine has taken, and what its host took away."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _idle, _waiting, irq, soft_irq, stolen = map(int, words[1:9])
    ticks = user + nice + system + irq + soft_irq + stolen
    return ticks / os.sysconf("SC_CLK_TCK")


def _for(seconds: float, done: list[int]) -> Iterator[Conversation]:
    """Round trips on new threads, begun for so long; counted in `done`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done[0] += 1
        yield approving(new_thread())


@contextlib.contextmanager
def _serving(store: str, processes: int) -> Iterator[_Serving]:
    with OBSERVED[store]() as observed, contextlib.ExitStack() as stack:
        url = f"{observed.url}?pool_size={POOL}" if store == "PostgreSQL" else observed.url
        servers = [
            stack.enter_context(contextlib.closing(Server("bridge", "--store", url)))
            for _ in range(processes)
        ]
        for server in servers:
            server.await_start()
            # The first request opens the store, where the server's start did not.
            drive(server.port, [approving(new_thread())])
        yield _Serving(observed, servers)


def _median(points: Sequence[Point]) -> Point:
    names = [field.name for field in fields(Point)]
    return Point(*(statistics.median(getattr(point, name) for point in points) for name in names))


def _limit(point: Point, processes: int) -> float:
    """Round trips a second at which a CPU is full: of the processes, or of the machine."""
    machine = point.cores / (point.bridge_ms + point.store_ms + point.client_ms)
    return 1_000 * min(machine, processes / point.bridge_ms)


def _foretold(store: str, processes: int, one: Point, cores: float) -> Point:
    """What the model makes of one process, for several on so many cores."""
    given = replace(MEASURED[store], bridge_ms=one.bridge_ms, store_ms=one.store_ms)
    rate = throughput(given, processes, cores=cores, client_ms=one.client_ms)
    each = POOL + 1 if store == "PostgreSQL" else given.connections
    return Point(rate, one.bridge_ms, one.store_ms, one.client_ms, cores, processes * each)


def _compare(pairs: Sequence[tuple[Point, Point]], name: str) -> str:
    """One number, foretold and measured, and the median of their ratios."""
    said, found = (
        [getattr(point, name) for point in points] for points in zip(*pairs, strict=True)
    )
    off = statistics.median(a / b for a, b in zip(said, found, strict=True)) - 1
    return f"{statistics.median(said):.4g}, {statistics.median(found):.4g} ({100 * off:+.0f} %)"


def _measure(store: str, processes: Sequence[int], seconds: float, rounds: int) -> list[str]:
    """Print the points of a store; gives the rows of what was foretold."""
    told = []
    with _serving(store, 1) as alone:
        for number in processes:
            if number == 1:
                _show(store, 1, [alone.press(seconds) for _ in range(rounds)])
                continue
            with _serving(store, number) as many:
                points = [(alone.press(seconds), many.press(seconds)) for _ in range(rounds)]
            _show(store, number, [here for _, here in points])
            pairs = [(_foretold(store, number, one, here.cores), here) for one, here in points]
            most = max(here.connections for _, here in points)
            told.append(
                f"| {store} | {number} | {_compare(pairs, 'rate')} | {_compare(pairs, 'bridge_ms')}"
                f" | {_compare(pairs, 'store_ms')} | {pairs[0][0].connections}, {most} |"
            )
    return told


def _show(store: str, processes: int, points: Sequence[Point]) -> None:
    here = _median(points)
    shown = f"{here.bridge_ms:.2f} | {here.store_ms:.2f} | {here.client_ms:.2f} | {here.cores:.2f}"
    limit = _limit(here, processes)
    print(f"| {store} | {processes} | {here.rate:.0f} | {shown} | {limit:.0f} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was measured, then what was foretold beside it."""
    parser = argparse.ArgumentParser(description="Round trips a second by number of processes.")
    parser.add_argument("--stores", nargs="+", choices=OBSERVED, default=list(OBSERVED))
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args(arguments)
    print(
        "| store | processes | round trips a second | CPU ms of the bridge | of the store "
        "| of the clients | cores left to us | limit by CPU |"
    )
    print("|---|---|---|---|---|---|---|---|")
    told = [
        row
        for store in options.stores
        for row in _measure(store, options.processes, options.seconds, options.rounds)
    ]
    print("\nForetold, measured (difference):\n")
    print(
        "| store | processes | round trips a second | CPU ms of the bridge | of the store "
        "| connections: at most, held |"
    )
    print("|---|---|---|---|---|---|")
    print(*told, sep="\n")


if __name__ == "__main__":
    main()
