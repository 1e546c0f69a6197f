"""Which work on an input may take noticeable time, and so takes turns (`HeavyTurns`).

An input is marked where it is read, by its size. But a small one may meet a long conversation, or
be the answer to a question whose schema is large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic_core import to_json

from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.stored import VALUE, StoredMessages
from agui_bridge.protocol.threads.records import Json

__all__ = ["are_heavy_answers", "are_long", "is_heavy_thread", "is_long_thread"]

_MESSAGES: Final = 1_000

_TEXT: Final = 512 * 1024
"""Characters that all messages may have before they take long."""

_ROOM: Final = 64 * 1024
"""Characters that a state may have before it takes long; a value takes as long as `VALUE`."""

_SCHEMA_TIMES_PAYLOAD: Final = 1_000_000
"""Bytes of a schema times those of a payload: each value may be looked at by each rule."""


def is_heavy_thread(loaded: Loaded, submission: Submission) -> bool:
    """Whether to compare an input with what is stored, or to show that, may take long."""
    return submission.heavy or is_long_thread(loaded)


def is_long_thread(loaded: Loaded) -> bool:
    """Whether to show what is stored may take long."""
    messages = StoredMessages.of(loaded.messages)
    if len(messages) > _MESSAGES or messages.size > _TEXT:
        return True
    return loaded.record is not None and _is_large(loaded.record.state)


def are_long(messages: Sequence[Mapping[str, Json]], state: Json) -> bool:
    """Whether to show messages and a state may take long."""
    if len(messages) > _MESSAGES or _is_large(state):
        return True
    room, parts = _TEXT, []
    for message in messages:
        for member in message.values():
            if isinstance(member, str):
                room -= len(member)
            else:
                parts.append(member)
    return room < 0 or _is_large(parts, room)


def _is_large(value: Json, room: int = _ROOM) -> bool:
    """Whether a value is one that takes long, found out without looking at all of it."""
    level = [value]
    while level:
        node = level.pop()
        room -= VALUE + (len(node) if isinstance(node, str) else 0)
        if isinstance(node, dict | list):
            room -= VALUE * len(node)
            if room >= 0:
                level.extend(node.values() if isinstance(node, dict) else node)
        if room < 0:
            return True
    return False


def are_heavy_answers(loaded: Loaded, entries: Iterable[Entry]) -> bool:
    """Whether to check answers against the schemas of their questions may take long."""
    work = 0
    for entry in entries:
        asked = loaded.interrupts.get(entry.interrupt_id)
        if asked is not None and asked.response_schema is not None:
            work += len(to_json(asked.response_schema)) * len(to_json(entry.answer.payload))
    return work > _SCHEMA_TIMES_PAYLOAD
