"""Which questions have a form, what its answers are, and which states are none of ours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.mcp_server.call_state import CallState
from agui_bridge.mcp_server.elicitations import answer_of, form_of
from agui_bridge.protocol.answers.decisions import declinable
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from agui_bridge.protocol.threads.records import Interrupt, RecordedAnswer, ToolCall

CALL = ToolCall("c", "pay", {"to": "bob"})
TEXT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def question(schema: Any = None, **fields: Any) -> Interrupt:
    """A question with a response schema."""
    return Interrupt("i", "b", 0, "n", "input_required", response_schema=schema, **fields)


def approval(**fields: Any) -> Interrupt:
    """An approval."""
    return question(tool_call=CALL, **{"allowed": ("approve", "decline"), **fields})


def of(part: Any) -> dict[str, Any]:
    """The schema of one field."""
    return {"type": "object", "properties": {"a": part}}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"enum": [1, 2]}, {"type": "string", "enum": ["1", "2"]}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"type": ["string", "null"]}, {"type": "string"}),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"type": "number", "title": "N\u200b"}, {"type": "number", "title": "N\\u200b"}),
        (
            {"type": "string", "format": "date", "maxLength": 9, "pattern": "x"},
            {"type": "string", "format": "date", "maxLength": 9},
        ),
        ({"type": "string", "format": "password"}, None),
        ({"type": "string", "writeOnly": True}, None),
        ({"type": "array", "items": {"type": "string"}}, None),
        ({"type": "object", "properties": {"b": {"type": "string"}}}, None),
        ({}, None),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, None),
    ],
)
def test_a_field_is_one_that_clients_know_or_the_question_has_its_page(
    part: Any, field: Any
) -> None:
    form = form_of(question(of(part)))
    assert (form and form.schema["properties"]) == (field and {"a": field})


@pytest.mark.parametrize(
    "ask",
    [
        approval(rule=ApprovalRule("r")),
        approval(allowed=("respond",)),
        approval(message="m" * 4000),
        approval(schema={"type": "object", "required": ["approved", "pin"]}),
        question(TEXT, rule=ApprovalRule("r", approvers=("dba",))),
        question(TEXT, permits=True),
        question(TEXT, message="m\n" * 60),
        replace(question(WAKE_SCHEMA), reason=TIMER),
    ],
)
def test_these_are_asked_on_their_page_alone(ask: Interrupt) -> None:
    assert form_of(ask) is None


YES, NO = {"approved": True}, {"approved": False}


@pytest.mark.parametrize(
    ("ask", "action", "content", "payload"),
    [
        (approval(), "accept", {"approved": True, "reason": ""}, YES),
        (approval(), "accept", {"approved": False, "reason": "no"}, {**NO, "reason": "no"}),
        (approval(), "accept", {}, {"approved": None}),
        (approval(), "accept", {"approved": "true"}, {"approved": "true"}),
        (approval(), "accept", {"approved": True, "editedArgs": {"to": "eve"}}, YES),
        (approval(), "decline", {"approved": True}, NO),
        (approval(allowed=("approve",)), "decline", {}, "cancelled"),
        (approval(), "cancel", {"approved": True}, None),
        (question(TEXT), "accept", {"a": "x", "b": None}, {"a": "x"}),
        (question(TEXT), "decline", {}, "cancelled"),
        (question(declinable(TEXT)), "decline", {}, {"declined": True}),
        (question(declinable(TEXT)), "accept", {"a": "x"}, {"a": "x"}),
        (question(of({"enum": [1, 2]})), "accept", {"a": "2"}, {"a": 2}),
        (question({"type": "integer"}), "accept", {"value": 3}, 3),
        (question(), "accept", {"value": "x"}, "x"),
    ],
)
def test_an_answer_is_what_the_form_asked_and_nothing_more(
    ask: Interrupt, action: str, content: Any, payload: Any
) -> None:
    wanted = {None: None, "cancelled": RecordedAnswer("cancelled", None)}
    found = answer_of(ask, action, content)
    if isinstance(payload, str | None) and payload in wanted:
        assert found == wanted[payload]
    else:
        assert found == RecordedAnswer("resolved", payload)


def test_a_state_comes_back_as_it_was_and_anything_else_is_none() -> None:
    state = CallState("ops", "t\u00e9", "m", 2, {"i": "opened", "j": "left"})
    written = state.write()
    assert CallState.read(written) == state
    assert CallState.read(CallState("ops", "t").write()) == CallState("ops", "t")
    for other in ("", "x", written[:-3], written + "x" * 70_000, "bnVsbA", "W10", "\u00e9"):
        assert CallState.read(other) is None
