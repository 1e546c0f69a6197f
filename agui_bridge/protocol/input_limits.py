"""How much one input may hold, and what is said of one that holds more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import RunAgentInput

from agui_bridge.errors import Refused
from agui_bridge.protocol.json_values import MAX_DEPTH

__all__ = [
    "NOT_IN_IDS",
    "UNLIMITED",
    "InputLimits",
    "beyond",
    "check_id",
    "check_ids",
    "check_members",
    "depth_of",
]


@dataclass(frozen=True, slots=True)
class InputLimits:
    """The limits of `Settings` that hold for an input's content; None is no limit.

    Attributes:
        max_messages: messages.
        max_members: tools, context items, resume entries, and the content parts and the tool
            calls of all messages together, of each.
        max_id_bytes: bytes of an id in UTF-8.
        max_depth: nesting of the whole input.
    """

    max_messages: int | None
    max_members: int | None
    max_id_bytes: int | None
    max_depth: int = MAX_DEPTH


NOT_IN_IDS: Final = r"[\u0000-\u001f\u007f-\u009f\u2028\u2029]"
"""What no line of a log, and no path, may hold: control characters and line ends, as a pattern."""

_CONTROL: Final = re.compile(NOT_IN_IDS)

UNLIMITED: Final = InputLimits(None, None, None)
"""For inputs that code makes, not a client."""


def beyond(
    code: str, what: str, *, found: object, limit: float, unit: str, setting: str
) -> Refused:
    """What is said of anything beyond a limit: the limit, what was found, and the setting.

    Args:
        code: a key of `CODES`.
        what: the field, or what else is too large.
        found: how much there is (or a word for it).
        limit: how much there may be.
        unit: of both.
        setting: the field of `Settings` that holds the limit.
    """
    details = {"field": what, "found": found, "limit": limit, "setting": setting}
    return Refused(
        code, f"{what}: {found} {unit}; at most {limit} are allowed ({setting}).", details
    )


def check_members(body: Mapping[str, Any], limits: InputLimits) -> None:
    """Check how many members an input's lists have, before each of them is looked at.

    Raises:
        Refused: PAYLOAD_TOO_LARGE.
    """
    within: dict[str, int] = {}
    for field, members in _lists(body):
        setting = "max_messages" if field == "messages" else "max_members"
        limit = limits.max_messages if field == "messages" else limits.max_members
        found = len(members)
        if field.startswith("messages."):
            kind = "content" if field.endswith(".content") else "calls"
            found = within[kind] = within.get(kind, 0) + found
        if limit is not None and found > limit:
            raise beyond(
                "PAYLOAD_TOO_LARGE", field, found=found, limit=limit, unit="members",
                setting=setting,
            )  # fmt: skip


def _lists(body: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists whose members are validated, the outer ones first, with their fields."""
    for field in ("messages", "tools", "context", "resume"):
        if isinstance(members := body.get(field), list):
            yield field, members
    messages = body.get("messages")
    for i, message in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(message, dict):
            # Both spellings of the tool calls are read.
            for field in ("content", "toolCalls", "tool_calls"):
                if isinstance(members := message.get(field), list):
                    yield f"messages.{i}.{field}", members


def check_ids(parsed: RunAgentInput, limits: InputLimits) -> None:
    """Check the ids that stores have as keys, and people read in paths and logs.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    ids = [
        ("threadId", parsed.thread_id),
        ("runId", parsed.run_id),
        ("parentRunId", parsed.parent_run_id or ""),
    ]
    ids += [(f"messages.{i}.id", message.id) for i, message in enumerate(parsed.messages)]
    ids += [(f"resume.{i}.interruptId", e.interrupt_id) for i, e in enumerate(parsed.resume or ())]
    for field, value in ids:
        check_id(field, value, limits.max_id_bytes)


def check_id(field: str, value: str, limit: int | None) -> None:
    """Check one id: its length, and that it is one line of text.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    if limit is not None and (size := len(value.encode())) > limit:
        raise beyond(
            "INVALID_INPUT", field, found=size, limit=limit, unit="bytes", setting="max_id_bytes"
        )
    if found := _CONTROL.search(value):
        reason = f"an id may not hold the control character U+{ord(found[0]):04X}"
        raise Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})


def depth_of(value: Any) -> int:
    """How deep a value nests, found without recursion; a scalar has depth 0, ``[]`` depth 1."""
    depth, level = 0, [value]
    while containers := [node for node in level if isinstance(node, dict | list)]:
        depth += 1
        level = []
        for node in containers:
            level.extend(node.values() if isinstance(node, dict) else node)
    return depth
