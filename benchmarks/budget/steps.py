"""Steps: what one costs, with checkpoints and without; and what it costs to fall asleep."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders.process import Server
from benchmarks.contenders.servers import STEPS
from benchmarks.measuring.load import Conversation, drive
from benchmarks.measuring.requests import request
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import BenchmarkBroken, Row, ratio


def steps(setup: Setup) -> list[Row]:
    """A run of steps on each store, one after the other; and runs that fall asleep."""
    plan, rows = setup.plan, list[Row]()
    count = max(1, plan.first_events // 10)
    for name, server in setup.stores().items():
        if name == "pydantic-ai":
            continue
        samples = interleave(
            {
                "pause": partial(_seconds, server, "steps-pause", count),
                "step": partial(_seconds, server, "steps-step", count),
                "sleep": partial(_seconds, server, "sleep", count),
            },
            plan.rounds,
        )
        short = f"steps/{name.lower()}"
        for kind, what in (("pause", "without checkpoints"), ("step", "with checkpoints")):
            each = tuple(1_000 * seconds / STEPS for seconds in samples[kind])
            rows.append(Row(f"{short}-{kind}", f"a step on {name}, {what}", "ms", each))
        asleep = tuple(1_000 * seconds for seconds in samples["sleep"])
        rows.append(Row(f"{short}-sleep", f"a run that falls asleep on {name}", "ms", asleep))
        what = f"a run of {STEPS} steps on {name}: with checkpoints / without"
        rows.append(ratio(f"{short}-ratio", what, samples, "step", "pause"))
    return rows


def _seconds(server: Server, agent: str, count: int) -> float:
    """Seconds of one run, each on a thread of its own."""
    return drive(server.port, [_run(agent) for _ in range(count)], 1) / count


def _run(agent: str) -> Conversation:
    raw = yield request(agent)
    outcome = b"interrupt" if agent == "sleep" else b"success"
    if b'"outcome":{"type":"%s"' % outcome not in raw:
        raise BenchmarkBroken(f"a run of steps has not ended: … {raw[-2_000:]!r}")
