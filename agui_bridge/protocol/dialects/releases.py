"""What releases of `@ag-ui/client` before 1.0 can read, and events and messages reduced to it.

Such a client throws at an event, a part or a message that it does not know: the reply is lost, or
the whole page stays empty. So what it can't read is left out, or takes the form that it had then.

Source: the schemas of `@ag-ui/core` 0.0.27 to 0.0.59, each one tried; docs/versions.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.turns import text_of

__all__ = [
    "LAST_RELEASE",
    "OUTCOMES",
    "Note",
    "altered_for",
    "event_for_release",
    "messages_for_release",
    "release_of",
]

Note = Callable[[str], None]
"""Is told what was left out, in words for a log."""

LAST_RELEASE: Final = 59
"""The last one before 1.0: 0.0.59."""

OUTCOMES: Final = 54
"""The release from which on the client reads the outcome of RUN_FINISHED, and sends `resume`."""

_RESULTS: Final = 30
_ROLES: Final = 37
_PARTS: Final = 41
_ACTIVITIES: Final = 41
_REASONING: Final = 45
_MEDIA: Final = 49
_EMPTY_TEXT: Final = 50
_SUBAGENTS: Final = 59

_EVENTS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "TOOL_CALL_RESULT": _RESULTS,
        "ACTIVITY_SNAPSHOT": _ACTIVITIES,
        "ACTIVITY_DELTA": _ACTIVITIES,
        "REASONING_START": _REASONING,
        "REASONING_MESSAGE_START": _REASONING,
        "REASONING_MESSAGE_CONTENT": _REASONING,
        "REASONING_MESSAGE_END": _REASONING,
        "REASONING_END": _REASONING,
        "REASONING_ENCRYPTED_VALUE": _REASONING,
        "SUBAGENT_STARTED": _SUBAGENTS,
        "SUBAGENT_FINISHED": _SUBAGENTS,
        "SUBAGENT_ERROR": _SUBAGENTS,
    }
)
"""The release that knows an event first; every one knows those that are not here."""

_MESSAGES: Final[Mapping[str, int]] = MappingProxyType(
    {"activity": _ACTIVITIES, "reasoning": _REASONING}
)
"""The release that knows a message's role first."""

_MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "image": "image/*",
        "audio": "audio/*",
        "video": "video/*",
        "document": "application/octet-stream",
    }
)
"""The types of parts with a source, and the media type of one that names none."""

_NUMBERED: Final = re.compile(r"0\.0\.([0-9]{1,6})(?![0-9])")


def release_of(declared: str) -> int:
    """The release that a client declares; the last one where it names none."""
    match = _NUMBERED.match(declared)
    return LAST_RELEASE if match is None else min(int(match[1]), LAST_RELEASE)


def altered_for(release: int) -> frozenset[str]:
    """The types of the events that `event_for_release` may change or leave out."""
    altered = {kind for kind, since in _EVENTS.items() if release < since}
    altered |= {"MESSAGES_SNAPSHOT", "TOOL_CALL_RESULT"}
    if release < _EMPTY_TEXT:
        altered.add("TEXT_MESSAGE_CONTENT")
    if release < _ROLES:
        altered.add("TEXT_MESSAGE_START")
    return frozenset(altered)


def event_for_release(event: WireEvent, release: int, note: Note) -> WireEvent | None:
    """An event as a release reads it; None if it is to be left out.

    Args:
        event: in the 1.0 shape, other than the end of a run.
        release: the client's.
        note: is told what was left out.
    """
    kind = event["type"]
    if release < _EVENTS.get(kind, 0):
        note(f"{kind} events")
        return None
    if kind == "MESSAGES_SNAPSHOT":
        return {**event, "messages": messages_for_release(event["messages"], release, note)}
    if kind == "TOOL_CALL_RESULT" and not isinstance(event["content"], str):
        return {**event, "content": _texts(event["content"], note)}
    if kind == "TEXT_MESSAGE_CONTENT" and release < _EMPTY_TEXT and not event["delta"]:
        return None
    if kind == "TEXT_MESSAGE_START" and release < _ROLES and event.get("role") != "assistant":
        # The next snapshot says whose it is.
        return {**event, "role": "assistant"}
    return event


def messages_for_release(
    messages: Iterable[Mapping[str, Any]], release: int, note: Note
) -> list[Mapping[str, Any]]:
    """Messages as a release reads them, without those that it does not know.

    Args:
        messages: in the 1.0 shape.
        release: the client's.
        note: is told what was left out.
    """
    told: list[Mapping[str, Any]] = []
    for message in messages:
        role = message["role"]
        if release < _MESSAGES.get(role, 0):
            note(f"{role} messages")
            continue
        content = message.get("content")
        if isinstance(content, list) and role in ("user", "tool"):
            message = {**message, "content": _content(role, content, release, note)}
        told.append(_without_nulls(message) if None in message.values() else message)
    return told


def _without_nulls(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without members that have no value, of which a client before 1.0 says no type."""
    return {key: value for key, value in message.items() if value is not None}


def _content(role: str, parts: list[Any], release: int, note: Note) -> str | list[Any]:
    if role == "tool" or release < _PARTS:
        return _texts(parts, note)
    told = (_part(part, release, note) for part in parts)
    return [part for part in told if part is not None]


def _texts(parts: Iterable[Any], note: Note) -> str:
    """The text of parts, for clients whose content is no list there."""
    listed = [dict(part) for part in parts if isinstance(part, Mapping)]
    for part in listed:
        if part.get("type") != "text":
            note(_named(part))
    return text_of(listed)


def _part(part: Any, release: int, note: Note) -> Mapping[str, Any] | None:
    """A part of a user's message as a release reads it; None if it can't."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    told: Mapping[str, Any] | None = None
    if kind == "text":
        told = part if isinstance(part.get("text"), str) else None
    elif kind == "binary":
        held = any(isinstance(part.get(member), str) for member in ("id", "url", "data"))
        told = part if held and isinstance(part.get("mimeType"), str) else None
    elif kind in _MEDIA_TYPES and _is_readable(part.get("source")):
        source = part["source"]
        if release < _MEDIA:
            told = _binary(part)
        else:
            told = {**part, "source": _without_nulls(source)} if None in source.values() else part
    if told is None:
        note(_named(part))
    return told


def _is_readable(source: Any) -> bool:
    if not isinstance(source, Mapping) or not isinstance(source.get("value"), str):
        return False
    media = source.get("mimeType")
    return (source.get("type") == "data" and isinstance(media, str)) or source.get("type") == "url"


def _binary(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """A part with a source in the form of before 0.0.49."""
    source = part["source"]
    told = {
        "type": "binary",
        "mimeType": source.get("mimeType") or _MEDIA_TYPES[part["type"]],
        source["type"]: source["value"],
    }
    metadata = part.get("metadata")
    name = metadata.get("filename") if isinstance(metadata, Mapping) else None
    return {**told, "filename": name} if isinstance(name, str) else told


def _named(part: Any) -> str:
    """What a part is called in the log."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind not in _MEDIA_TYPES:
        return f"parts of the type {kind!r:.40}"
    source = part.get("source")
    held = source.get("type") if isinstance(source, Mapping) else None
    return f"parts of the type {kind!r} with a source of the type {held!r:.40}"
