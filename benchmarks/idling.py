"""What a stream costs that is open and silent."""

from __future__ import annotations

import contextlib
from functools import partial

from benchmarks.load import open_stream
from benchmarks.process import Server
from benchmarks.requests import request
from benchmarks.rounds import interleave
from benchmarks.rows import Row
from benchmarks.setup import Setup

__all__ = ["idle"]

_WARM = 10
_WORDS = {"bridge": "ours", "starlette": "Starlette"}


def _bytes_per_stream(contender: str, streams: int) -> float:
    """The growth of a fresh process while streams stand open inside their runs."""
    content = b'"TEXT_MESSAGE_CONTENT"'
    with contextlib.closing(Server(contender)) as server, contextlib.ExitStack() as stack:
        server.await_start()
        for _ in range(_WARM):
            stack.enter_context(open_stream(server.port, request("idle"), content))
        before = server.resident
        for _ in range(streams):
            stack.enter_context(open_stream(server.port, request("idle"), content))
        return (server.resident - before) / streams


def idle(setup: Setup) -> list[Row]:
    """Memory of one idle stream, when many are open."""
    plan, contenders = setup.plan, setup.contenders
    samples = interleave(
        {name: partial(_bytes_per_stream, name, plan.idle_streams) for name in contenders},
        plan.idle_rounds,
        warm_up=False,
    )
    return [
        Row(
            f"idle/{name}",
            f"memory of an idle stream, {plan.idle_streams} open: {_WORDS.get(name, name)}",
            "KB",
            tuple(taken / 1024 for taken in samples[name]),
            at_most=25 if name == "bridge" else None,
        )
        for name in contenders
    ]
