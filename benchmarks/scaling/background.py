"""What replicas ask of their store when nobody asks anything of them, or little.

    python -m benchmarks.scaling.background [--processes 1 2 4 8] [--seconds 20]

Real servers on a database and a Redis of our own, whose own counts are read: on PostgreSQL the
transactions of the database (each statement of the store is one, and what a listening session does
on a notification) and the sessions that listen, on Redis the commands. Counts do not depend on how
busy the machine is, as long as it keeps up.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import redis

from benchmarks.contenders.own_servers import own_database, own_redis, query
from benchmarks.contenders.process import Server
from benchmarks.measuring.load import drive, open_stream
from benchmarks.measuring.requests import new_thread, request, run_input
from benchmarks.measuring.resuming import asking

STATES: Mapping[str, tuple[int, int]] = {
    "idle": (0, 0),
    "200 paused": (200, 0),
    "40 running": (0, 40),
    "200 paused, 40 running": (200, 40),
}
"""How many threads wait for an answer and how many runs say nothing, in all processes together."""

_SETTLE: Mapping[str, float] = {"PostgreSQL": 11.0, "Redis": 2.0}
"""Seconds until a store counts what was: a session of PostgreSQL that is idle reports after ten."""

Count = Callable[[], dict[str, float]]
"""Reads counters that only grow."""


def of_postgres(dsn: str) -> dict[str, float]:
    """What a database was asked so far.

    Args:
        dsn: its address.
    """
    ((transactions,),) = query(
        dsn,
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()",
    )
    return {"transactions": transactions}


def of_redis(url: str) -> dict[str, float]:
    """What a server was asked so far, and what scripts called within it.

    Args:
        url: its address.
    """
    with redis.Redis.from_url(url) as client:
        stats = client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): of["calls"] for name, of in stats.items()}
    # What scripts call within the server is counted too, and is no round trip.
    sent = ("evalsha", "eval", "ping", "publish", "subscribe", "get", "set")
    return {
        "round trips": sum(calls.get(name, 0) for name in sent),
        "commands in scripts": sum(of for name, of in calls.items() if name not in ("info", *sent)),
    }


def _connections(dsn: str) -> tuple[int, int]:
    """Connections of the servers, and those of them that listen."""
    rows = query(
        dsn,
        "SELECT query FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )
    # What the one that listens asks besides: its own notifications, and whether it is alive.
    words = ("LISTEN", "SELECT 1", "SELECT pg_notify(")
    return len(rows), sum(any(word in row["query"] for word in words) for row in rows)


@contextlib.contextmanager
def _servers(url: str, count: int) -> Iterator[list[Server]]:
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(contextlib.closing(Server("bridge", "--store", url)))
            for _ in range(count)
        ]
        for server in servers:
            server.await_start()
            # The first request opens the store, where the server's start did not.
            drive(server.port, [asking(new_thread())])
        yield servers


def _rates(count: Count, settle: float, seconds: float) -> dict[str, float]:
    time.sleep(settle)
    before, began = count(), time.monotonic()
    time.sleep(seconds)
    after, taken = count(), time.monotonic() - began
    return {name: (after[name] - before[name]) / taken for name in after}


def _measure(
    url: str, count: Count, processes: int, state: str, *, settle: float, seconds: float
) -> tuple[dict[str, float], tuple[int, int] | None]:
    paused, running = STATES[state]
    with _servers(url, processes) as servers, contextlib.ExitStack() as stack:
        for number, server in enumerate(servers):
            share = len(range(number, paused, processes))
            drive(server.port, [asking(new_thread()) for _ in range(share)], 4)
            for _ in range(number, running, processes):
                body = run_input(new_thread())
                ready = b'"TEXT_MESSAGE_CONTENT"'
                stack.enter_context(open_stream(server.port, request("idle", body), ready))
        rates = _rates(count, settle, seconds)
        if not url.startswith("postgres"):
            return rates, None
        return rates, _connections(url)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table: what is asked of each store in a second, by processes and by what is on."""
    parser = argparse.ArgumentParser(description="What replicas ask of their store by themselves.")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--states", nargs="+", choices=STATES, default=list(STATES))
    parser.add_argument("--stores", nargs="+", choices=_SETTLE, default=list(_SETTLE))
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args(arguments)
    print("| store | processes | threads in all | asked per second | connections, listening |")
    print("|---|---|---|---|---|")
    for store in options.stores:
        for processes in options.processes:
            for state in options.states:
                with own_database() if store == "PostgreSQL" else own_redis() as url:
                    reader = of_postgres if store == "PostgreSQL" else of_redis
                    rates, connections = _measure(
                        url,
                        partial(reader, url),
                        processes,
                        state,
                        settle=_SETTLE[store],
                        seconds=options.seconds,
                    )
                shown = ", ".join(f"{rate:.1f} {name}" for name, rate in rates.items())
                held = "" if connections is None else f"{connections[0]}, {connections[1]}"
                print(f"| {store} | {processes} | {state} | {shown} | {held} |", flush=True)


if __name__ == "__main__":
    main()
