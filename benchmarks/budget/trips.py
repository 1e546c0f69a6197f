"""The server's CPU of a question's round trip, beside a bare server on the same store."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders.process import Server
from benchmarks.measuring.resuming import round_trips
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import Row, ratio


def _cpu(server: Server, count: int) -> float:
    """CPU seconds of one round trip."""
    before = server.cpu_seconds
    round_trips(server, count, 1)
    return (server.cpu_seconds - before) / count


def trips(setup: Setup) -> list[Row]:
    """Run, interrupt, resume, finish, by the CPU time of the server; and how many fit in a second.

    The bare server is what must be done at least: see `benchmarks.contenders.bare`.
    """
    plan, servers, bare = setup.plan, setup.stores(), setup.bare()
    (_, count), (clients, many) = plan.round_trips
    ours = {name: server for name, server in servers.items() if name in bare}
    samples = interleave(
        {
            **{f"ours {name}": partial(_cpu, server, count) for name, server in ours.items()},
            **{f"bare {name}": partial(_cpu, server, count) for name, server in bare.items()},
        },
        plan.rounds,
    )
    rows = []
    for name in bare:
        short, what = f"trips/{name.lower()}", f"interrupt and answer on {name}: server CPU"
        milliseconds = tuple(1_000 * seconds for seconds in samples[f"ours {name}"])
        rows += [
            ratio(
                short,
                f"{what}, ours / bare server",
                samples,
                f"ours {name}",
                f"bare {name}",
                at_most=4 if name == "memory" else 3,
            ),
            Row(f"{short}-ms", what, "ms", milliseconds),
        ]
    pressed = interleave(
        {
            "ours": partial(round_trips, ours["SQLite"], many, clients),
            "bare": partial(round_trips, bare["SQLite"], many, clients),
        },
        plan.rounds,
    )
    what = f"interrupt and answer, {clients} clients, SQLite: rate / rate of the bare server"
    rows.append(ratio(f"trips/sqlite-{clients}", what, pressed, "bare", "ours", at_least=0.4))
    return rows
