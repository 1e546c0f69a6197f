"""How much a conversation takes, and which of its oldest turns leave so that it fits.

A **turn** is a user's message with all that follows it, up to the next user's message.
Source: docs/contract.md, "Size".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.messages.archived import calls_of

# --- how near a thread is to the bound of its size ---

THREAD_SIZE: Final = "agui_bridge.thread_size"
"""Name of the CUSTOM event."""


def told_size(size: int, most: int, archived: int) -> WireEvent:
    """The event that says it.

    Args:
        size: bytes of the conversation as JSON, once the oldest turns have left.
        most: how many it may have.
        archived: messages that have left with this run.
    """
    value = {"bytes": size, "max": most, **({"archived": archived} if archived else {})}
    return {"type": "CUSTOM", "name": THREAD_SIZE, "value": value}


# --- sizes ---

SOON: Final = 0.8
"""The part of the bound from which on people are told that it is near."""

LEFT: Final = 0.5
"""The part of the bound that is left at most once turns have left: they leave seldom, not daily."""

_INSTRUCTIONS: Final = frozenset({"system", "developer"})
"""Roles of what holds for the whole conversation, whichever turn it stands in."""

Message = Mapping[str, Any]


def bytes_of(messages: Iterable[Message]) -> int:
    """Bytes of messages as JSON, in UTF-8."""
    return sum(map(_bytes, messages))


def _bytes(message: Message) -> int:
    try:
        return len(to_json(message))
    except (PydanticSerializationError, ValueError):
        # Half of a surrogate pair has no bytes in UTF-8.
        return len(json.dumps(message, separators=(",", ":")))


def oldest_turns(
    messages: Sequence[Message], most: int, *, stays: Collection[str], waits: Collection[str]
) -> list[str]:
    """The ids of the messages that leave, in order: whole turns, the oldest first.

    The last turn stays, and so does each that has a call without a result, or whose calls and
    results are not all in it.

    Args:
        messages: the conversation, with what the input brings.
        most: bytes of it; nothing leaves while it has no more.
        stays: ids of messages whose turns stay: what the input brings, and what no agent has heard.
        waits: ids of tool calls that somebody waits for, with or without a result.
    """
    total = bytes_of(messages)
    if total <= most:
        return []
    results = {m["toolCallId"]: m["id"] for m in messages if m["role"] == "tool"}
    carried = {call["id"] for call in calls_of(messages)}
    leaving: list[str] = []
    for turn in _turns(messages)[:-1]:
        ids = {message["id"] for message in turn}
        calls = {call["id"] for call in calls_of(turn)}
        answered = {m["toolCallId"] for m in turn if m["role"] == "tool"}
        if (
            ids.isdisjoint(stays)
            and calls.isdisjoint(waits)
            and all(results.get(call) in ids for call in calls)
            and answered & carried <= calls
        ):
            going = [message for message in turn if message["role"] not in _INSTRUCTIONS]
            leaving += [message["id"] for message in going]
            total -= bytes_of(going)
            if total <= most * LEFT:
                break
    return leaving


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages by turns; what stands before the first user's message belongs to its turn."""
    turns: list[list[Message]] = [[]]
    begun = False
    for message in messages:
        if message["role"] == "user":
            if begun:
                turns.append([])
            begun = True
        turns[-1].append(message)
    return turns
