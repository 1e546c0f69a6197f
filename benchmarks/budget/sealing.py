"""The audit chain: what it costs to store a question and to take its answer."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders.process import Server
from benchmarks.measuring.resuming import round_trips
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import Row, ratio


def audit(setup: Setup) -> list[Row]:
    """Interrupt and answer with audit keys and without, on each store."""
    plan, plain, sealing = setup.plan, setup.stores(), setup.sealing()
    measure = _cpu_of if setup.cpu else round_trips
    rows = []
    for clients, count in plan.round_trips:
        at_once = "1 client" if clients == 1 else f"{clients} clients"
        for name, server in sealing.items():
            samples = interleave(
                {
                    "off": partial(measure, plain[name], count, clients),
                    "on": partial(measure, server, count, clients),
                },
                plan.rounds,
            )
            what = f"interrupt and answer, {at_once}, {name}: with audit keys / without"
            rows.append(ratio(f"audit/{name.lower()}-{clients}", what, samples, "on", "off"))
    return rows


def _cpu_of(server: Server, count: int, clients: int) -> float:
    """The CPU time of the bridge, which has no part of a store that is a server."""
    before = server.cpu_seconds
    round_trips(server, count, clients)
    return server.cpu_seconds - before
