"""How many servers, and which stores, a number of runs and of open questions takes.

    python -m benchmarks.capacity [--runs 10000] [--questions 1000000] [--store PostgreSQL]

A run is one that asks, and its answer. The constants are those of `docs/scaling.md`, which names
the command that measures each; `--set NAME=VALUE` replaces one by what another machine gives.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = ["MEASURED", "Constants", "Plan", "costs", "main", "plan", "throughput"]


@dataclass(frozen=True, slots=True)
class Constants:
    """What one store and the bridge on it were measured at.

    Attributes:
        trips: round trips to the store of a run that asks, and its answer.
        bridge_ms: CPU of the bridge for the same.
        store_ms: CPU of the store for the same: of all sessions of PostgreSQL, of the one thread
            of Redis.
        announced: changes that all processes are told of, for the same: the beginning and the end
            of each of the two runs.
        hear_ms: CPU of a process for one announcement that another made.
        hear_store_ms: CPU of the store to deliver it to one process.
        send_ms: CPU of a process to send one, where that is no part of a commit.
        measured_at: runs a second of the one process that `bridge_ms` was measured at.
        gather: seconds for which a process gathers changes into one announcement.
        poll: round trips a second of a process by itself, while it has runs.
        kilobytes: what an open question takes in the store, with its thread and history.
        connections: of one process at most.
        store_cores: how many cores a server of the store can use: one of Redis, and of PostgreSQL
            what is bought; a master of a cluster
            and its replica two. This one is chosen, not measured.
    """

    trips: float
    bridge_ms: float
    store_ms: float
    announced: float
    hear_ms: float
    hear_store_ms: float
    send_ms: float
    measured_at: float
    gather: float
    poll: float
    kilobytes: float
    connections: float
    store_cores: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What a load takes.

    Attributes:
        processes: of the bridge, one core each.
        stores: servers of the store, or shards of a cluster.
        connections: of all processes together.
        trips: round trips a second, background included.
        gigabytes: of the store, all servers together.
        heard: announcements a second that all processes together hear of the others.
        full_at: runs a second at which one server of the store has no more to give.
    """

    processes: int
    stores: int
    connections: int
    trips: float
    gigabytes: float
    heard: float
    full_at: float


MEASURED: Mapping[str, Constants] = {
    "PostgreSQL": Constants(
        trips=14.5,
        bridge_ms=3.66,
        store_ms=1.67,
        announced=4,
        hear_ms=0.022,
        hear_store_ms=0.007,
        send_ms=0.2,
        measured_at=119,
        gather=0.005,
        poll=3.0,
        kilobytes=2.5,
        connections=11,
        store_cores=16,
    ),
    "Redis": Constants(
        trips=7.0,
        bridge_ms=3.78,
        store_ms=0.53,
        announced=4,
        hear_ms=0.080,
        hear_store_ms=0.004,
        send_ms=0,
        measured_at=108,
        gather=0,
        poll=3.3,
        kilobytes=4.5,
        connections=51,
        store_cores=1,
    ),
    "Redis Cluster": Constants(
        trips=7.0,
        bridge_ms=3.54,
        store_ms=1.31,
        announced=4,
        hear_ms=0.093,
        hear_store_ms=0.010,
        send_ms=0,
        measured_at=198,
        gather=0,
        poll=211,
        kilobytes=4.5,
        connections=151,
        store_cores=2,
    ),
}
"""By store; see `docs/scaling.md`."""

BUSY = 0.6
"""What part of a core is used at most: above it waiting grows faster than the load."""

MOST_PROCESSES = 10_000
"""More are not tried."""


def costs(constants: Constants, processes: int, runs: float) -> tuple[float, float]:
    """CPU ms of the bridge and of the store for one run, with what all others hear of it.

    Args:
        constants: of the store, measured at one process.
        processes: how many hear.
        runs: how many there are in a second, in all processes.
    """
    made = _announced(constants, processes, runs)
    heard = made * (processes - 1)
    more = made - _announced(constants, 1, constants.measured_at)
    return (
        constants.bridge_ms + more * constants.send_ms + heard * constants.hear_ms,
        constants.store_ms + heard * constants.hear_store_ms,
    )


def _announced(constants: Constants, processes: int, runs: float) -> float:
    """Announcements for one run: what follows within the time of gathering shares one."""
    made = constants.announced * runs / processes
    return constants.announced / (1 + made * constants.gather)


def throughput(constants: Constants, processes: int, *, cores: float, client_ms: float) -> float:
    """Runs a second that fit on one machine, which the processes, store and clients share."""
    runs = 1.0
    for _ in range(50):
        bridge, store = costs(constants, processes, runs)
        fits = 1_000 * min(cores / (bridge + store + client_ms), processes / bridge)
        # What is gathered depends on the rate, and the rate on that: half-way each time.
        runs = (runs + fits) / 2
    return runs


def plan(constants: Constants, runs: float, questions: int) -> Plan | None:
    """What so many runs a second take while so many questions are open.

    Returns:
        The plan; None where what a process hears of the others fills it, however many there are.
    """
    processes = next((n for n in _numbers() if _load(constants, n, runs) <= BUSY), None)
    if processes is None:
        return None
    heard = _announced(constants, processes, runs) * (processes - 1)
    full_at = constants.store_cores * BUSY * 1_000 / costs(constants, processes, runs)[1]
    return Plan(
        processes=processes,
        stores=max(1, math.ceil(runs / full_at)),
        connections=round(processes * constants.connections),
        trips=runs * constants.trips + processes * constants.poll,
        gigabytes=questions * constants.kilobytes / 2**20,
        heard=runs * heard,
        full_at=full_at,
    )


def _numbers() -> Iterator[int]:
    """Numbers of processes that are tried: each, and beyond a thousand ever fewer."""
    number = 1
    while number <= MOST_PROCESSES:
        yield number
        number += max(1, number // 1_000)


def _load(constants: Constants, processes: int, runs: float) -> float:
    """What part of a core each process needs."""
    return runs / processes * costs(constants, processes, runs)[0] / 1_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what a load takes, for each store."""
    parser = argparse.ArgumentParser(description="What a load takes.")
    parser.add_argument("--runs", type=float, default=10_000, help="a second, with their answers")
    parser.add_argument("--questions", type=int, default=1_000_000, help="open at once")
    parser.add_argument("--store", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--quiet", action="store_true", help="without announcements")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Constants)]
    given = dict(pair.split("=", 1) for pair in options.set)
    if unknown := set(given) - set(names):
        parser.error(f"there is no {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    for name in options.store:
        changes: dict[str, Any] = {what: float(value) for what, value in given.items()}
        if options.quiet:
            changes["announced"] = 0.0
        found = plan(replace(MEASURED[name], **changes), options.runs, options.questions)
        print(f"{name}: {_in_words(found)}")


def _in_words(found: Plan | None) -> str:
    if found is None:
        return "no number of processes carries it: what each hears of the others fills it"
    return (
        f"{found.processes} processes of the bridge, {found.stores} of the store, "
        f"{found.connections} connections, {found.trips:,.0f} round trips a second, "
        f"{found.gigabytes:.1f} GB for the questions, {found.heard:,.0f} announcements heard a "
        f"second; one of the store is full at {found.full_at:,.0f} runs a second"
    )


if __name__ == "__main__":
    main()
