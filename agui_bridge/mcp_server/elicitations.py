"""A question as MCP asks it, and what a client brings back as an answer to it.

A form is asked in the client's own window, where nobody knows who presses the button: "accept"
proves no person. So only questions that whoever may use the thread may answer are asked there, and
of those only what the form's few kinds of fields can say and the window can show whole. All others
have their page in the inbox, where people are known.

Source: Model Context Protocol 2026-07-28, "Elicitation"; docs/security.md.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, DECLINED, has_decline
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer
from agui_bridge.surfaces.reading import say_call
from agui_bridge.text.shown import shown_json, shown_name, shown_preview, shown_word
from agui_bridge.text.visible import visible

MOST_CHARACTERS: Final = 4000
"""Characters of a message that a client's window is trusted to show whole."""

MOST_LINES: Final = 60
"""Lines of such a message."""

_FORMATS: Final = ("date", "date-time", "email", "uri")
"""Formats of texts that forms know."""

_BOUNDS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
}
"""What forms say of a value besides its type."""

_APPROVED: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve this call"},
        "reason": {"type": "string", "title": "Reason, if you refuse"},
    },
    "required": ["approved"],
}


@dataclass(frozen=True, slots=True)
class Form:
    """A question as a form in the client's window.

    Attributes:
        message: what people read: of an approval all that would run.
        schema: the fields, in the kinds that MCP's forms have.
    """

    message: str
    schema: Mapping[str, Json]


def form_of(ask: Interrupt) -> Form | None:
    """The form of a question; None where it has to be asked on its page, or time answers it.

    Args:
        ask: the question.
    """
    if ask.is_timer or ask.rule is not None or (ask.lets_run and ask.tool_call is None):
        return None
    schema = _approval_fields(ask) if ask.tool_call is not None else _fields(ask)
    message = message_of(ask)
    if schema is None or len(message) > MOST_CHARACTERS or message.count("\n") >= MOST_LINES:
        return None
    return Form(message, schema)


def message_of(ask: Interrupt) -> str:
    """What a question says, whole: a call that it lets run, who asks, and the agent's words.

    A call is set off as code is in Markdown, where some clients would hide parts of it otherwise.
    """
    call, words = ask.tool_call, visible(ask.message) if ask.message else ""
    if call is None:
        return str(say_call({"message": ask.message}, ask)["message"]) or visible(ask.reason)
    shown = f"{shown_name(call.name)}\n{shown_json(dict(call.args), 2)}"
    parts = ["This would run:", textwrap.indent(shown, "    ")]
    if ask.preview is not None:
        lines = shown_preview(ask.preview).split("\n")
        parts += ["What it would do:", "\n".join(f"    {line}" for line in lines)]
    if ask.asked_by:
        parts.append(f"Asked for by: {shown_word(ask.asked_by)}")
    if words:
        parts.append(f"The agent says: {words}")
    return "\n\n".join(parts)


def answer_of(ask: Interrupt, action: str, content: Mapping[str, Any]) -> RecordedAnswer | None:
    """The answer that a filled form stands for; None where somebody only closed it.

    Args:
        ask: the question, which `form_of` has a form for.
        action: `accept`, `decline` or `cancel`.
        content: by field; admission checks it.
    """
    if action == "accept":
        return RecordedAnswer("resolved", _payload(ask, content))
    if action != "decline":
        return None
    if ask.tool_call is not None and DECLINE in ask.allowed:
        return RecordedAnswer("resolved", {"approved": False})
    if ask.tool_call is None and has_decline(ask.response_schema):
        return RecordedAnswer("resolved", {DECLINED: True})
    return RecordedAnswer("cancelled", None)


def _payload(ask: Interrupt, content: Mapping[str, Any]) -> Json:
    if ask.tool_call is not None:
        reason = {"reason": content["reason"]} if content.get("reason") else {}
        return {"approved": content.get("approved"), **reason}
    filled = {name: value for name, value in content.items() if value is not None}
    if ask.response_schema is None:
        return filled.get(WHOLE_VALUE)
    return payload_from_input(ask.response_schema, filled)


def _approval_fields(ask: Interrupt) -> Mapping[str, Json] | None:
    needed = (ask.response_schema or {}).get("required", ())
    plain = APPROVE in ask.allowed and set(needed) <= {"approved"}
    return _APPROVED if plain else None


def _fields(ask: Interrupt) -> Mapping[str, Json] | None:
    """The fields of a question that is no approval; None where a form can't say one of them."""
    schema = ask.response_schema
    if schema is None:
        value = {"type": "string", "title": "Answer"}
        return {"type": "object", "properties": {WHOLE_VALUE: value}, "required": [WHOLE_VALUE]}
    whole = resolve_schema(schema, schema)
    properties, required = {}, []
    for field in fields_from_schema(schema):
        part = (whole.get("properties") or {}).get(field.name, schema)
        made = _field(field, resolve_schema(schema, part))
        if made is None:
            return None
        properties[field.name] = made
        if field.required:
            required.append(field.name)
    return {"type": "object", "properties": properties, "required": required}


def _field(field: FormField, part: Mapping[str, Json]) -> dict[str, Json] | None:
    """A field in MCP's words; None where it has none for it, or it is a secret."""
    if part.get("format") == "password" or part.get("writeOnly"):
        return None
    described: dict[str, Json] = {"title": visible(field.label)} if field.label else {}
    if isinstance(about := part.get("description"), str):
        described["description"] = visible(about)
    if field.type == "confirm":
        return {"type": "boolean", **described}
    if field.type == "select":
        return {"type": "string", "enum": list(field.options), **described}
    kind = part.get("type")
    bounds = _BOUNDS.get(kind) if isinstance(kind, str) else None
    if bounds is None:
        return None
    said = {name: part[name] for name in bounds if name in part}
    if part.get("format") in _FORMATS:
        said["format"] = part["format"]
    return {"type": kind, **said, **described}
