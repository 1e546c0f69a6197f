"""What one run asks of its store: round trips, bytes, and waits for the disk.

    python -m benchmarks.scaling.per_run [--runs 100]

A run that only talks, one that ends with a question, and one that carries an answer out, each on a
thread of its own, one after the other. PostgreSQL counts the transactions of a database of our own
(each statement is one, and so is what a listening session does on a notification), a Redis of our
own its commands and bytes, and on SQLite strace counts the calls that wait for the disk. What the
server asks by itself meanwhile is counted before, and taken off.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import redis

from benchmarks.contenders.own_servers import own_database, own_redis, query
from benchmarks.contenders.process import Server
from benchmarks.measuring.load import Conversation, drive
from benchmarks.measuring.requests import new_thread, request, run_input
from benchmarks.measuring.resuming import approving, asking
from benchmarks.scaling.observed import cpu_of_redis, cpu_of_sessions

_REPORTED = 11.0
"""Seconds after which an idle session of PostgreSQL has reported what it did."""

_SYNCS = "fsync,fdatasync"

Counters = dict[str, float]


def _talking(thread: str) -> Conversation:
    yield request("one", run_input(thread))


KINDS: dict[str, Callable[[str], Conversation]] = {
    "a run that talks": _talking,
    "a run that asks": asking,
    "a run that asks, and its answer": approving,
}


def _of_postgres(dsn: str) -> Counters:
    time.sleep(_REPORTED)
    ((transactions, written),) = query(
        dsn,
        "SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted"
        " FROM pg_stat_database WHERE datname = current_database()",
    )
    return {
        "transactions": transactions,
        "rows written": written,
        "ms of its sessions' CPU": 1_000 * cpu_of_sessions(dsn),
    }


def _of_redis(url: str) -> Counters:
    with redis.Redis.from_url(url) as client:
        commands, stats = client.info("commandstats"), client.info("stats")
    within = sum(of["calls"] for name, of in commands.items() if name != "cmdstat_info")
    scripts = sum(commands.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in _SCRIPTS)
    return {
        "scripts": scripts,
        "commands in them": within - scripts,
        "bytes to it": stats["total_net_input_bytes"],
        "bytes from it": stats["total_net_output_bytes"],
        "ms of its CPU": 1_000 * cpu_of_redis(url),
    }


_SCRIPTS = ("eval", "evalsha")


@contextlib.contextmanager
def _serving(url: str) -> Iterator[Server]:
    with contextlib.closing(Server("bridge", "--store", url)) as server:
        server.await_start()
        for kind in KINDS.values():
            drive(server.port, [kind(new_thread())])
        yield server


def _count(url: str, read: Callable[[], Counters], runs: int) -> Iterator[tuple[str, Counters]]:
    with _serving(url) as server:

        def look() -> tuple[Counters, float]:
            own = {"ms of the bridge's CPU": 1_000 * server.cpu_seconds}
            return {**read(), **own}, time.monotonic()

        for name, kind in KINDS.items():
            idle, idle_at = look()
            time.sleep(_REPORTED)
            before, before_at = look()
            drive(server.port, [kind(new_thread()) for _ in range(runs)])
            after, after_at = look()
            share = (after_at - before_at) / (before_at - idle_at)
            yield (
                name,
                {
                    what: (after[what] - before[what] - share * (before[what] - idle[what])) / runs
                    for what in after
                },
            )


def _syncs(folder: Path, runs: int) -> Iterator[tuple[str, Counters]]:
    with _serving(f"sqlite:///{folder / 'runs.db'}") as server:
        for name, kind in KINDS.items():
            report = folder / "strace"
            command = ["strace", "-f", "-qq", "-e", f"trace={_SYNCS}", "-o", str(report)]
            tracing = subprocess.Popen([*command, "-p", str(server.pid)])
            time.sleep(2)
            drive(server.port, [kind(new_thread()) for _ in range(runs)])
            tracing.send_signal(signal.SIGINT)
            tracing.wait()
            lines = report.read_text().splitlines()
            calls = [line for line in lines if "sync(" in line]
            yield name, {"waits for the disk": len(calls) / runs}


def _show(store: str, counted: Iterator[tuple[str, Counters]]) -> None:
    for name, counters in counted:
        shown = ", ".join(f"{number:.1f} {what}" for what, number in counters.items())
        print(f"| {store} | {name} | {shown} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, by store and kind of run."""
    parser = argparse.ArgumentParser(description="What one run asks of its store.")
    parser.add_argument("--runs", type=int, default=100)
    runs: int = parser.parse_args(arguments).runs
    print("| store | what | counted |")
    print("|---|---|---|")
    with own_redis() as url:
        _show("Redis", _count(url, partial(_of_redis, url), runs))
    if shutil.which("strace") is None:
        print("| SQLite | | not counted: there is no strace |")
    else:
        with tempfile.TemporaryDirectory() as folder:
            _show("SQLite", _syncs(Path(folder), runs))
    with own_database() as url:
        _show("PostgreSQL", _count(url, partial(_of_postgres, url), runs))


if __name__ == "__main__":
    main()
