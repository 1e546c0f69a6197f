"""The versions of AG-UI that are spoken, and what each has that the one before had not.

To speak the next one: add it to SPOKEN, what it adds to BESIDE (or wait for an `ag_ui` package that
declares it), and its streams to tests/golden. docs/versions.md tells the rest.

Source: AG-UI 1.1, versioning and key changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.turns import text_of

SPOKEN: Final = ("1.0", "1.1")
"""Oldest first. A client is answered in the version that it declares, or the nearest one."""

FIRST: Final = SPOKEN[0]
NEWEST: Final = SPOKEN[-1]

BESIDE: Final[Mapping[str, str]] = MappingProxyType({"encryptedValue": "encryptedValueType"})
"""Members that 1.1 adds: wherever the one is described the other may be, a text.

An `ag_ui` package of 1.0 does not declare them; one that does changes nothing.
"""

_ADDED: Final = frozenset(BESIDE.values())

_VERSION: Final = re.compile(r"([0-9]{1,6})\.([0-9]{1,6})\Z")

CARRIERS: Final = frozenset({"REASONING_ENCRYPTED_VALUE", "MESSAGES_SNAPSHOT"})
"""The events that may hold what 1.0 does not have."""


def parse_version(declared: str) -> tuple[int, int] | None:
    """The major and the minor number that somebody declares; None when it can't be read."""
    match = _VERSION.match(declared)
    return None if match is None else (int(match[1]), int(match[2]))


_NEWEST: Final = parse_version(NEWEST) or (0, 0)


def version_note(declared: Any) -> str | None:
    """What there is to say of the version that a producer declares; None of one that is spoken.

    Args:
        declared: RUN_STARTED's `protocolVersion`, None without one.
    """
    if declared is None or declared in SPOKEN:
        return None
    found = parse_version(declared) if isinstance(declared, str) else None
    if found is None:
        return f"this side cannot interpret the producer's protocol version {declared!r:.40}"
    if found > _NEWEST:
        return f"the producer speaks protocol {declared}, this side {NEWEST}"
    return None


def no_text(messages: Iterable[Mapping[str, Any]]) -> str | None:
    """Where a member of BESIDE holds no text, which an older `ag_ui` lets pass; None if nowhere.

    Args:
        messages: as `ag_ui` accepts them.
    """
    for number, message in enumerate(messages):
        calls = message.get("toolCalls") if message.get("role") == "assistant" else None
        for more in BESIDE.values():
            if not isinstance(message.get(more), str | None):
                return f"{number}.{more}"
            for place, call in enumerate(calls or ()):
                if not isinstance(call.get(more), str | None):
                    return f"{number}.toolCalls.{place}.{more}"
    return None


def first_version_event(event: WireEvent) -> WireEvent:
    """An event for a client of 1.0, which knows nothing of what later versions add.

    Args:
        event: of any type; it is given back itself when it holds nothing of the kind.
    """
    if event["type"] not in CARRIERS:
        return event
    reduced: WireEvent = _reduced(event)
    if "messages" in reduced:
        reduced = {**reduced, "messages": first_version_messages(reduced["messages"])}
    return reduced


def first_version_messages(messages: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Messages as 1.0 has them."""
    # Of a long conversation hardly a message has any: they are passed over quickly.
    return [
        message
        if _ADDED.isdisjoint(message) and "toolCalls" not in message
        else _reduced_message(message)
        for message in messages
    ]


def _reduced_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
    reduced: Mapping[str, Any] = _reduced(message)
    if calls := reduced.get("toolCalls"):
        return {**reduced, "toolCalls": [_reduced(call) for call in calls]}
    return reduced


def _reduced(thing: Any) -> Any:
    if _ADDED.isdisjoint(thing):
        return thing
    return {key: thing[key] for key in thing if key not in _ADDED}


# --- what releases of `@ag-ui/client` before 1.0 can read, and events and messages reduced to it
# ---
#
# Such a client throws at an event, a part or a message that it does not know: the reply is lost, or
# the whole page stays empty. So what it can't read is left out, or takes the form that it had then.
#
# Source: the schemas of `@ag-ui/core` 0.0.27 to 0.0.59, each one tried; docs/versions.md.

Note = Callable[[str], None]
"""Is told what was left out, in words for a log."""

LAST_RELEASE: Final = 59
"""The last one before 1.0: 0.0.59."""

OFFERS_SURFACES: Final = "injectA2UITool"
"""What AG-UI's A2UI middleware adds to `forwardedProps`."""

OF_COPILOTKIT: Final = 57
"""The release in CopilotKit's runtime 1.61: who offers surfaces and declares none may be as old."""

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
