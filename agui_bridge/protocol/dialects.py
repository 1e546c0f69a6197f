"""Wire dialects: what clients of each version send, and the shapes that they accept.

1.0 is declared by `protocolVersion`; an input without it comes from a client from before 1.0
and gets only shapes that `@ag-ui/client` 0.0.59 accepts. A downgrade is a pure transformation:
never another outcome, other ids or another order.

Source: AG-UI 1.0, versioning; docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput
from pydantic import ValidationError

from agui_bridge.errors import Refused
from agui_bridge.protocol.admission import Entry
from agui_bridge.protocol.json_values import WireEvent, find_forbidden
from agui_bridge.protocol.records import Json, RecordedAnswer

__all__ = ["V0", "V1", "Dialect", "ParsedInput", "parse_input"]

_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\Z")

MAX_MEMBERS = 10_000
"""Messages, tools, context items or resume entries of one input."""

STOP_REASON = "USER_INTERRUPTED"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One wire dialect.

    Attributes:
        name: `1.0` or `0.x`.
        answers_singly: its clients answer one interrupt at a time.
        downgrade: makes this dialect's shape of a RUN_FINISHED event in the 1.0 shape.
    """

    name: str
    answers_singly: bool
    downgrade: Callable[[WireEvent], WireEvent]

    def outgoing(self, event: WireEvent) -> WireEvent:
        """The event as this dialect's clients accept it."""
        return self.downgrade(event) if event["type"] == "RUN_FINISHED" else event


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """A run's input, normalised.

    Attributes:
        input: in the 1.0 shape.
        entries: its resume, empty when absent.
        messages: its messages as JSON, as they were sent.
        has_state: whether it carries a state. An empty object is none: a fresh client always sends
            one, and would wipe what the thread has.
        dialect: how to answer.
        warnings: what was ignored or could not be understood, for the log.
    """

    input: RunAgentInput
    entries: tuple[Entry, ...]
    messages: tuple[Mapping[str, Json], ...]
    has_state: bool
    dialect: Dialect
    warnings: tuple[str, ...] = ()


def parse_input(body: Any) -> ParsedInput:
    """Read a run's input.

    Args:
        body: the request's body, parsed from JSON.

    Raises:
        Refused: INVALID_INPUT, naming the field; UNSUPPORTED_VERSION for another major version.
    """
    if not isinstance(body, dict):
        raise Refused("INVALID_INPUT", "The body must be a JSON object, a RunAgentInput.")
    fault = find_forbidden(body)
    if fault is not None:
        raise Refused("INVALID_INPUT", f"The body holds what JSON may not: {fault}.")
    for field in ("messages", "tools", "context", "resume"):
        members = body.get(field)
        if isinstance(members, list) and len(members) > MAX_MEMBERS:
            raise Refused(
                "PAYLOAD_TOO_LARGE", f"{field}: more than {MAX_MEMBERS} members.", {"field": field}
            )
    try:
        parsed = RunAgentInput.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(step) for step in first["loc"]) or "the body"
        raise Refused(
            "INVALID_INPUT", f"{field}: {first['msg']}.", {"field": field, "reason": first["msg"]}
        ) from None
    if not parsed.thread_id or not parsed.run_id:
        field = "runId" if parsed.thread_id else "threadId"
        raise Refused("INVALID_INPUT", f"{field}: must not be empty.", {"field": field})
    dialect, warnings = _negotiate(parsed.protocol_version)
    unknown = sorted(set(parsed.model_extra or ()))
    if unknown:
        warnings = (*warnings, f"unknown members were ignored: {unknown!r:.200}")
    return ParsedInput(
        input=parsed,
        entries=tuple(
            Entry(entry.interrupt_id, RecordedAnswer(entry.status, entry.payload))
            for entry in parsed.resume or ()
        ),
        messages=tuple(body["messages"]),
        has_state=body.get("state") not in (None, {}),
        dialect=dialect,
        warnings=warnings,
    )


def _negotiate(version: str | None) -> tuple[Dialect, tuple[str, ...]]:
    if version is None:
        return V0, ()
    if version.startswith("0."):
        return V0, ()
    match = _VERSION.match(version)
    if match is None:
        return V1, (f"protocolVersion {version[:40]!r} can't be read; 1.0 is spoken",)
    if match[1] != "1":
        raise Refused(
            "UNSUPPORTED_VERSION",
            f"This server speaks AG-UI 1.0; the input declares {version[:40]!r}.",
        )
    newer = int(match[2]) > 0
    return V1, (f"the client speaks {version}; 1.0 is spoken",) if newer else ()


def _same(event: WireEvent) -> WireEvent:
    return event


def _before_one(event: WireEvent) -> WireEvent:
    """RUN_FINISHED without what makes 0.0.59 throw.

    An expired card bricks a 0.x client, which refuses even to cancel it, so that it must not
    know the time: expiry is enforced here.
    """
    outcome = event["outcome"]
    older = dict(event)
    if outcome["type"] == "cancelled":
        del older["outcome"]
        older["result"] = {"stopReason": STOP_REASON}
    elif outcome["type"] == "interrupt":
        interrupts = [
            {key: value for key, value in interrupt.items() if key != "expiresAt"}
            for interrupt in outcome["interrupts"]
        ]
        older["outcome"] = {"type": "interrupt", "interrupts": interrupts}
    else:
        older["outcome"] = {"type": "success"}
    return older


V1 = Dialect("1.0", answers_singly=False, downgrade=_same)
V0 = Dialect("0.x", answers_singly=False, downgrade=_before_one)
