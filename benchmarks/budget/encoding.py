"""Encoding: the official event object and encoder against ours, which give the same bytes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from ag_ui.core import (
    BaseEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder

from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.wire.sse import encode
from benchmarks.measuring.plan import Plan
from benchmarks.measuring.rounds import interleave, no_collection
from benchmarks.rows import BenchmarkBroken, Row, ratio

# As many as may wait for a reader: memory that is used again is what a server has, too.
_BATCH: Final = 100

_TEXT: Final = "TEXT_MESSAGE_CONTENT"
_ARGS: Final = "TOOL_CALL_ARGS"
_KEYS: Final = {_TEXT: "messageId", _ARGS: "toolCallId"}
_ENTITY: Final = "4f5Kx2mQb0aZr9LwYt7uNg"

_PROSE = 'He said "no".\nThe agent waited for somebody to answer, and nobody did. '
_CHINESE = "代理等待有人回答“可以”但没有人回答。\n"
_ARGUMENTS = '{"city": "Paris", "days": [1, 2, 3]}, '

_DELTAS: Final = {
    _TEXT: {
        "ascii": ("a token", " token"),
        "chinese": ("a Chinese token", "你好"),
        "400": ("400 characters", (_PROSE * 10)[:400]),
        "400-chinese": ("400 Chinese characters", (_CHINESE * 40)[:400]),
    },
    _ARGS: {
        "ascii": ("a token", '"city'),
        "chinese": ("a Chinese token", '"你好'),
        "400": ("400 characters", (_ARGUMENTS * 20)[:400]),
        "400-chinese": ("400 Chinese characters", ('{"问题": "' + _CHINESE * 40)[:400]),
    },
}


def _official(kind: str, delta: str) -> BaseEvent:
    if kind == _TEXT:
        return TextMessageContentEvent(message_id=_ENTITY, delta=delta)
    return ToolCallArgsEvent(tool_call_id=_ENTITY, delta=delta)


def _by_official(kind: str, deltas: Sequence[str]) -> list[bytes]:
    encode = EventEncoder().encode
    return [encode(_official(kind, delta)).encode() for delta in deltas]


def _by_ours(kind: str, deltas: Sequence[str]) -> list[bytes]:
    key = _KEYS[kind]
    return [encode({"type": kind, key: _ENTITY, "delta": delta}) for delta in deltas]


def _timed(
    make: Callable[[], list[bytes]], expected: list[bytes], batches: int
) -> Callable[[], float]:
    """A measurement in batches, whose bytes are compared each time."""

    def measure() -> float:
        seconds = 0.0
        with no_collection():
            for _ in range(batches):
                began = time.process_time_ns()
                made = make()
                seconds += time.process_time_ns() - began
                if made != expected:
                    raise BenchmarkBroken(f"{made[0]!r} is not {expected[0]!r}")
        return seconds

    return measure


def encoding(plan: Plan) -> list[Row]:
    """A delta as a dict and its bytes, against an official object and its bytes."""
    rows = []
    for kind, deltas in _DELTAS.items():
        short = "text" if kind == _TEXT else "args"
        for name, (words, delta) in deltas.items():
            many = [delta] * _BATCH
            official, ours = partial(_by_official, kind, many), partial(_by_ours, kind, many)
            expected = official()
            samples = interleave(
                {
                    "official": _timed(official, expected, plan.batches),
                    "ours": _timed(ours, expected, plan.batches),
                },
                plan.rounds,
            )
            rows.append(
                ratio(
                    f"encode/{short}-{name}",
                    f"{kind}, {words}: official / ours",
                    samples,
                    "official",
                    "ours",
                    at_least=15,
                )
            )
    return rows


def _by_engine(start: BaseEvent, items: Iterable[BaseEvent | str]) -> list[bytes]:
    lifecycle, history = Lifecycle(lambda: _ENTITY), History()
    for event in lifecycle.feed(start):
        history.apply(event)
    made = []
    for item in items:
        for event in lifecycle.feed(item):
            history.apply(event)
            made.append(encode(event))
    return made


def engine(plan: Plan) -> list[Row]:
    """All that the engine does with a delta but scheduling: order, history, bytes."""
    many = [" token"] * _BATCH
    start = TextMessageStartEvent(message_id=_ENTITY, role="assistant")
    call = ToolCallStartEvent(tool_call_id=_ENTITY, tool_call_name="look")

    def objects(kind: str) -> Iterable[BaseEvent]:
        return (_official(kind, delta) for delta in many)

    contenders: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
        "official text": (_TEXT, partial(_by_official, _TEXT, many)),
        "official args": (_ARGS, partial(_by_official, _ARGS, many)),
        "str": (_TEXT, lambda: _by_engine(start, many)),
        "text": (_TEXT, lambda: _by_engine(start, objects(_TEXT))),
        "args": (_ARGS, lambda: _by_engine(call, objects(_ARGS))),
    }
    samples = interleave(
        {
            name: _timed(make, _by_official(kind, many), plan.batches)
            for name, (kind, make) in contenders.items()
        },
        plan.rounds,
    )
    return [
        ratio(
            "engine/str",
            "a token through lifecycle, history, encoder: official / ours",
            samples,
            "official text",
            "str",
        ),
        ratio(
            "engine/text",
            "a text event, made and through the same: official / ours",
            samples,
            "official text",
            "text",
        ),
        ratio(
            "engine/args",
            "an arguments event, made and through the same: official / ours",
            samples,
            "official args",
            "args",
        ),
    ]
