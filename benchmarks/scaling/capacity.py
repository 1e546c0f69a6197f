"""How many servers, and which stores, a number of runs and of open questions takes.

    python -m benchmarks.scaling.capacity [--runs 10000] [--questions 1000000] [--store PostgreSQL]

A run is one that asks, and its answer. The constants are those of `docs/scaling.md`, which names
the command that measures each; `--set NAME=VALUE` replaces one by what another machine gives.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Constants:
    """What one store and the bridge on it were measured at.

    Attributes:
        trips: round trips to the store of a run that asks, and its answer.
        bridge_ms: CPU of the bridge for the same.
        store_ms: CPU of the store for the same: of all sessions of PostgreSQL, of the one thread
            of Redis.
        poll: round trips a second of a process by itself, while it has runs. What one server does
            for all, whatever their number, is left out: 2 a second, 25 on a cluster.
        kilobytes: what an open question takes in the store, with its thread and history.
        connections: of one process at most.
        store_cores: how many cores a server of the store can use: one of Redis, and of PostgreSQL
            what is bought; a master of a cluster
            and its replica two. This one is chosen, not measured.
    """

    trips: float
    bridge_ms: float
    store_ms: float
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
        full_at: runs a second at which one server of the store has no more to give.
    """

    processes: int
    stores: int
    connections: int
    trips: float
    gigabytes: float
    full_at: float


MEASURED: Mapping[str, Constants] = {
    "PostgreSQL": Constants(
        trips=7.2,
        bridge_ms=3.66,
        store_ms=1.67,
        poll=3.0,
        kilobytes=2.5,
        connections=11,
        store_cores=16,
    ),
    "Redis": Constants(
        trips=7.0,
        bridge_ms=3.78,
        store_ms=0.53,
        poll=3.3,
        kilobytes=4.5,
        connections=51,
        store_cores=1,
    ),
    "Redis Cluster": Constants(
        trips=7.0,
        bridge_ms=3.54,
        store_ms=1.31,
        # Stops are asked for twice a second, in the shards of the runs: in all 64 at most.
        poll=134,
        kilobytes=4.5,
        connections=151,
        store_cores=2,
    ),
}
"""By store; see `docs/scaling.md`."""

BUSY = 0.6
"""What part of a core is used at most: above it waiting grows faster than the load."""


def throughput(constants: Constants, processes: int, *, cores: float, client_ms: float) -> float:
    """Runs a second that fit on one machine, which the processes, store and clients share."""
    every = constants.bridge_ms + constants.store_ms + client_ms
    return 1_000 * min(cores / every, processes / constants.bridge_ms)


def plan(constants: Constants, runs: float, questions: int) -> Plan:
    """What so many runs a second take while so many questions are open.

    A run costs the same however many processes there are: none hears of it but the one that has
    it, unless somebody in another one waits for it.
    """
    processes = max(1, math.ceil(runs * constants.bridge_ms / (1_000 * BUSY)))
    full_at = constants.store_cores * BUSY * 1_000 / constants.store_ms
    return Plan(
        processes=processes,
        stores=max(1, math.ceil(runs / full_at)),
        connections=round(processes * constants.connections),
        trips=runs * constants.trips + processes * constants.poll,
        gigabytes=questions * constants.kilobytes / 2**20,
        full_at=full_at,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what a load takes, for each store."""
    parser = argparse.ArgumentParser(description="What a load takes.")
    parser.add_argument("--runs", type=float, default=10_000, help="a second, with their answers")
    parser.add_argument("--questions", type=int, default=1_000_000, help="open at once")
    parser.add_argument("--store", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    names = [field.name for field in fields(Constants)]
    given = dict(pair.split("=", 1) for pair in options.set)
    if unknown := set(given) - set(names):
        parser.error(f"there is no {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    for name in options.store:
        changes: dict[str, Any] = {what: float(value) for what, value in given.items()}
        found = plan(replace(MEASURED[name], **changes), options.runs, options.questions)
        print(f"{name}: {_in_words(found)}")


def _in_words(found: Plan) -> str:
    return (
        f"{found.processes} processes of the bridge, {found.stores} of the store, "
        f"{found.connections} connections, {found.trips:,.0f} round trips a second, "
        f"{found.gigabytes:.1f} GB for the questions; one of the store is full at "
        f"{found.full_at:,.0f} runs a second"
    )


if __name__ == "__main__":
    main()
