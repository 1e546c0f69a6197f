"""The versions of AG-UI that are spoken, and what each has that the one before had not.

To speak the next one: add it to SPOKEN, what it adds to BESIDE (or wait for an `ag_ui` package that
declares it), and its streams to tests/golden. docs/versions.md tells the rest.

Source: AG-UI 1.1, versioning and key changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from agui_bridge.protocol.json_values import WireEvent

__all__ = [
    "BESIDE",
    "CARRIERS",
    "FIRST",
    "NEWEST",
    "SPOKEN",
    "first_version_event",
    "first_version_messages",
    "no_text",
    "parse_version",
    "version_note",
]

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
