"""Streams of events at random: mostly in order, with few ids, so that they meet."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["random_streams"]

Event = dict[str, Any]

_IDS: Final = ("a", "b")
_OWNERS: Final = (None, None, None, "s", "t")
_STARTED: Final = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
_FINISHED: Final = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def random_streams(seed: int, count: int) -> Iterator[list[Event]]:
    """Streams that are the same for the same seed."""
    source = random.Random(seed)
    for _ in range(count):
        yield _stream(source)


def _stream(source: random.Random) -> list[Event]:
    stream = [dict(_STARTED)] if source.random() < 0.97 else []
    for _ in range(source.randint(1, 4)):
        stream += _piece(source)
        if source.random() < 0.15:
            stream.append(_single(source))
    stream.append(dict(_FINISHED))
    if source.random() < 0.4:
        # One event at a wrong place, twice, or not at all.
        place = source.randrange(len(stream))
        event = stream.pop(place)
        for _ in range(source.choice((0, 1, 2))):
            stream.insert(source.randint(0, len(stream)), dict(event))
    if source.random() < 0.1:
        stream += [dict(_STARTED), *_piece(source), dict(_FINISHED)]
    return stream


def _tagged(source: random.Random, events: list[Event]) -> list[Event]:
    """One owner for all; or for the first alone; or, seldom, another one for one of them."""
    owner, how = source.choice(_OWNERS), source.random()
    for number, event in enumerate(events):
        if owner is not None and (number == 0 or how < 0.7):
            event["subagentRunId"] = owner
    if how > 0.93:
        source.choice(events)["subagentRunId"] = "other"
    return events


def _piece(source: random.Random) -> list[Event]:
    """Events that belong together."""
    make: Callable[[random.Random], list[Event]] = source.choice(_PIECES)
    return make(source)


def _text(source: random.Random) -> list[Event]:
    named = {"messageId": source.choice(_IDS)}
    return _tagged(
        source,
        [
            {"type": "TEXT_MESSAGE_START", "role": "assistant", **named},
            {"type": "TEXT_MESSAGE_CONTENT", "delta": "x", **named},
            {"type": "TEXT_MESSAGE_END", **named},
        ],
    )


def _thought(source: random.Random) -> list[Event]:
    named, span = {"messageId": source.choice(_IDS)}, {"messageId": source.choice(_IDS)}
    return _tagged(
        source,
        [
            {"type": "REASONING_START", **span},
            {"type": "REASONING_MESSAGE_START", "role": "reasoning", **named},
            {"type": "REASONING_MESSAGE_CONTENT", "delta": "x", **named},
            {"type": "REASONING_MESSAGE_END", **named},
            {"type": "REASONING_END", **span},
        ],
    )


def _call(source: random.Random) -> list[Event]:
    named = {"toolCallId": source.choice(_IDS)}
    parent = {"parentMessageId": source.choice(_IDS)} if source.random() < 0.4 else {}
    events = [
        {"type": "TOOL_CALL_START", "toolCallName": "f", **named, **parent},
        {"type": "TOOL_CALL_ARGS", "delta": "{}", **named},
        {"type": "TOOL_CALL_END", **named},
    ]
    if source.random() < 0.5:
        result = {"type": "TOOL_CALL_RESULT", "messageId": source.choice(("r", "a")), **named}
        events.append({**result, "content": "done"})
    return _tagged(source, events)


def _chunks(source: random.Random) -> list[Event]:
    kind, key = source.choice(
        (
            ("TEXT_MESSAGE", "messageId"),
            ("TOOL_CALL", "toolCallId"),
            ("REASONING_MESSAGE", "messageId"),
        )
    )
    events: list[Event] = []
    for number in range(source.randint(1, 3)):
        event: Event = {"type": f"{kind}_CHUNK", "delta": "x"}
        if number == 0 or source.random() < 0.3:
            event[key] = source.choice(_IDS)
        if kind == "TOOL_CALL" and (number == 0 or source.random() < 0.3):
            event["toolCallName"] = source.choice(("f", "f", "f", "g"))
        if kind == "TEXT_MESSAGE" and source.random() < 0.3:
            event["role"] = source.choice(("assistant", "assistant", "user"))
        events.append(event)
        if source.random() < 0.2:
            events.append(_single(source))
    return _tagged(source, events)


def _step(source: random.Random) -> list[Event]:
    named = {"stepName": source.choice(_IDS)}
    inner = _piece(source) if source.random() < 0.3 else []
    start, end = _tagged(
        source, [{"type": "STEP_STARTED", **named}, {"type": "STEP_FINISHED", **named}]
    )
    return [start, *inner, end]


def _subagent(source: random.Random) -> list[Event]:
    named = {"subagentRunId": source.choice(("s", "t", "u"))}
    parent = {"parentSubagentRunId": source.choice("stu")} if source.random() < 0.2 else {}
    end: Event = {"type": "SUBAGENT_FINISHED", **named}
    if source.random() < 0.2:
        end = {"type": "SUBAGENT_ERROR", "message": "failed", **named}
    return [{"type": "SUBAGENT_STARTED", "name": "n", **named, **parent}, *_piece(source), end]


def _activity(source: random.Random) -> list[Event]:
    named = {"messageId": source.choice(_IDS), "activityType": "x"}
    return _tagged(
        source,
        [
            {"type": "ACTIVITY_SNAPSHOT", "content": {"n": 1}, **named},
            {"type": "ACTIVITY_DELTA", "patch": [], **named},
        ],
    )


def _single(source: random.Random) -> Event:
    return dict(
        source.choice(
            (
                {"type": "RAW", "event": 1},
                {"type": "CUSTOM", "name": "n", "value": 1},
                {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}},
                {"type": "SOMETHING_NEW"},
                {"type": "RUN_ERROR", "message": "failed"},
                {
                    "type": "REASONING_ENCRYPTED_VALUE",
                    "subtype": "message",
                    "entityId": "a",
                    "encryptedValue": "v",
                },
                {
                    "type": "MESSAGES_SNAPSHOT",
                    "messages": [
                        {"id": "a", "role": "assistant", "content": "x", "subagentRunId": "s"}
                    ],
                },
            )
        )
    )


_PIECES: Final = (
    _text,
    _text,
    _thought,
    _call,
    _call,
    _chunks,
    _chunks,
    _step,
    _subagent,
    _activity,
)
