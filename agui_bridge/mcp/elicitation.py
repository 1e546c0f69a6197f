"""What a server asks in the middle of a call, as questions; and the answers, as it wants them.

A server that asks for what it must not, or in a way that nobody can be shown safely, is not asked
about: the call is given up with a sentence that says so. Source: MCP 2026-07-28, "Elicitation".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import (
    CreateMessageRequest,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
)

from agui_bridge.adapters import Ask
from agui_bridge.protocol.answers.decisions import DECLINED, Answer, Cancel, Decline
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.shown_address import Misleading, host_of
from agui_bridge.protocol.threads.records import Json

FORM: Final = "mcp:elicitation"
"""Reason of a question that is a form."""

URL: Final = "mcp:elicitation_url"
"""Reason of a question whose answer is given at an address elsewhere."""

OPENED: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["opened"],
    "properties": {"opened": {"type": "boolean", "title": "I have opened the address"}},
}
"""Whether the person has opened the address; if not, the server is told that it was cancelled."""

_LONGEST: Final = 4_000
_SECRET: Final = re.compile(
    r"pass(word|phrase|code|wd)|secret|credential|api.?key|private.?key|access.?token|"
    r"card.?number|\bcvv\b|\bcvc\b|\bpin\b|\bssn\b",
    re.IGNORECASE,
)
_KINDS: Final = frozenset({"string", "number", "integer", "boolean", "array"})


class Unaskable(Exception):
    """A question that may not be put to people; the text says why."""


def ask_of(native_id: str, request: InputRequest, server: str, tool: str) -> Ask:
    """Make the question for people.

    Args:
        native_id: its name within the call.
        request: what the server sent.
        server: the server's name.
        tool: the tool's own name.

    Raises:
        Unaskable: it is no elicitation, wants a secret in a form, has a form that is not flat, or
            an address that is none for people.
    """
    if isinstance(request, CreateMessageRequest):
        raise Unaskable("it wanted to use the agent's model (sampling), which is refused")
    if not isinstance(request, ElicitRequest):
        raise Unaskable(f"it sent {request.method!r} in place of a question")
    params = request.params
    about: dict[str, Json] = {"server": server, "tool": tool, "mode": params.mode}
    said = clean_text(params.message[:_LONGEST])
    if isinstance(params, ElicitRequestURLParams):
        try:
            host = host_of(params.url)
        except Misleading as error:
            raise Unaskable(str(error)) from None
        return Ask(
            native_id,
            reason=URL,
            message=f"{said}\n\n{server} asks you to open this address at {host}: {params.url}",
            response_schema=OPENED,
            allowed=("answer", "decline"),
            metadata={"mcp": {**about, "url": params.url, "host": host}},
            permits=True,
        )
    assert isinstance(params, ElicitRequestFormParams)
    schema = dict(params.requested_schema)
    _check_form(schema)
    declinable = DECLINED not in schema.get("properties", {})
    return Ask(
        native_id,
        reason=FORM,
        message=f"{said}\n\n({server} asks, for {tool}.)",
        response_schema=schema,
        allowed=("answer", "decline") if declinable else None,
        metadata={"mcp": about},
        permits=True,
    )


def response_of(ask_reason: str, decision: Answer | Decline | Cancel | None) -> ElicitResult:
    """What the server is told of an answer.

    Args:
        ask_reason: the question's.
        decision: what people said; None where nobody was asked.
    """
    match decision:
        case Answer(payload) if ask_reason == URL:
            opened = isinstance(payload, dict) and payload.get("opened") is True
            return ElicitResult(action="accept" if opened else "cancel")
        case Answer(payload):
            return ElicitResult(action="accept", content=payload)
        case Decline():
            return ElicitResult(action="decline")
        case _:
            return ElicitResult(action="cancel")


def request_of(request: InputRequest) -> dict[str, Json]:
    """A request as JSON by which two are compared."""
    return dict(request.model_dump(mode="json", by_alias=True, exclude_none=True))


def _check_form(schema: dict[str, Any]) -> None:
    properties = schema.get("properties", {})
    if schema.get("type") != "object" or not isinstance(properties, dict):
        raise Unaskable("its form is no object with fields")
    for name, field in properties.items():
        if not isinstance(field, dict) or not _is_flat(field):
            raise Unaskable(f"the field {name!r:.60} of its form is not one that forms have")
        titles = " ".join(str(field.get(key, "")) for key in ("title", "format"))
        if field.get("writeOnly") is True or _SECRET.search(f"{name} {titles}"):
            raise Unaskable(
                f"it wanted a secret in a form (the field {name!r:.60}), which MCP forbids"
            )
    try:
        check_schema(schema)
    except UnsafeSchema as error:
        raise Unaskable(f"its form can't be used: {error}") from None


def _is_flat(field: Mapping[str, Any]) -> bool:
    kind = field.get("type", "string" if {"enum", "oneOf", "const"} & field.keys() else None)
    if kind not in _KINDS:
        return False
    if kind == "array":
        items = field.get("items")
        return isinstance(items, dict) and bool({"enum", "anyOf", "oneOf"} & items.keys())
    return not {"properties", "$ref", "allOf"} & field.keys()
