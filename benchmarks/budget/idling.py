"""What a stream costs that is open and silent."""

from __future__ import annotations

import contextlib
import time
from functools import partial

from benchmarks.contenders.process import Server
from benchmarks.measuring.load import open_stream
from benchmarks.measuring.requests import request
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import Row, ratio

_WARM = 10
_WORDS = {"bridge": "ours", "starlette": "Starlette"}


def _bytes_per_stream(contender: str, streams: int, silence: float, busy: list[float]) -> float:
    """The growth of a fresh process while streams stand open inside their runs.

    Args:
        contender: which server.
        streams: how many are open at once.
        silence: seconds for which its CPU time is watched then; 0 for not at all.
        busy: what part of a core it took then, in per cent, is added here.
    """
    content = b'"TEXT_MESSAGE_CONTENT"'
    with contextlib.closing(Server(contender)) as server, contextlib.ExitStack() as stack:
        server.await_start()
        for _ in range(_WARM):
            stack.enter_context(open_stream(server.port, request("idle"), content))
        before = server.resident
        for _ in range(streams):
            stack.enter_context(open_stream(server.port, request("idle"), content))
        taken = (server.resident - before) / streams
        if silence:
            cpu, began = server.cpu_seconds, time.monotonic()
            time.sleep(silence)
            busy.append(100 * (server.cpu_seconds - cpu) / (time.monotonic() - began))
        return taken


def idle(setup: Setup) -> list[Row]:
    """Memory of one idle stream, when some and when many are open; and what many cost of a core."""
    plan, contenders = setup.plan, setup.contenders
    rows = []
    most = max(plan.idle_streams)
    busy: dict[str, list[float]] = {name: [] for name in contenders}
    for size, streams in zip(("some", "many"), plan.idle_streams, strict=True):
        silence = plan.silence if streams == most else 0
        samples = interleave(
            {
                name: partial(_bytes_per_stream, name, streams, silence, busy[name])
                for name in contenders
            },
            plan.idle_rounds,
            warm_up=False,
        )
        what = f"memory of an idle stream, {streams} open"
        rows += [
            Row(
                f"idle/{size}-{name}",
                f"{what}: {_WORDS.get(name, name)}",
                "KB",
                tuple(taken / 1024 for taken in samples[name]),
            )
            for name in contenders
        ]
        rows.append(
            ratio(
                f"idle/{size}-of-starlette",
                f"{what}: ours / Starlette",
                samples,
                "bridge",
                "starlette",
                at_most=1.4,
            )
        )
    rows += [
        Row(
            f"idle/silence-{name}",
            f"{most} streams that say nothing: {_WORDS.get(name, name)}",
            "% of a core",
            tuple(busy[name]),
            at_most=4 if name == "bridge" else None,
        )
        for name in contenders
    ]
    return rows
