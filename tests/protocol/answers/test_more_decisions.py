"""Texts in place of a tool's result, declined questions, and what is said of each decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    DECLINE,
    EDIT,
    RESPOND,
    Answer,
    Approve,
    Decline,
    Respond,
    approval_schema,
    decide,
    find_fault,
)
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, ToolCall


def approval(*allowed: str, schema: Mapping[str, Json] | None = None) -> Interrupt:
    """A question whether a tool may run, with edits unless told otherwise."""
    allowed = allowed or (APPROVE, DECLINE, EDIT)
    offered = approval_schema(None, editable=EDIT in allowed, respond=RESPOND in allowed)
    return Interrupt(
        *("id", "batch", 0, "native", "tool_call"),
        tool_call=ToolCall("call", "delete_rows", {"table": "users"}),
        response_schema=schema or offered,
        allowed=allowed,
    )


def question(*allowed: str) -> Interrupt:
    return Interrupt(*("id", "batch", 0, "native", "input"), allowed=allowed)


def decided(interrupt: Interrupt, payload: Json) -> object:
    assert find_fault(interrupt, payload) is None
    return decide(interrupt, RecordedAnswer("resolved", payload), expired=False)


# --- a text in place of the tool's result ---

RESPONDED: Final[dict[str, Json]] = {"approved": False, "respond": "Sent by hand."}
WITH_TEXT: Final = approval(APPROVE, DECLINE, RESPOND)


def test_a_text_in_place_of_the_result_is_a_decision_of_its_own() -> None:
    assert decided(WITH_TEXT, RESPONDED) == Respond("Sent by hand.", RESPONDED)


def test_it_is_shown_only_where_it_is_offered() -> None:
    assert "respond" in approval_schema(None, editable=False, respond=True)["properties"]
    assert "respond" not in approval_schema(None, editable=True)["properties"]


@pytest.mark.parametrize(
    ("interrupt", "payload", "says"),
    [
        (approval(APPROVE, DECLINE), RESPONDED, "not supported"),
        (WITH_TEXT, {**RESPONDED, "approved": True}, "must be false"),
        (WITH_TEXT, {**RESPONDED, "respond": {"text": "x"}}, "respond"),
        (approval(APPROVE, RESPOND), {"approved": False}, "'decline'"),
        (approval(APPROVE, RESPOND, schema={"title": "own"}), {**RESPONDED, "respond": 7}, "text"),
    ],
)
def test_a_text_that_can_not_be_told_is_refused(
    interrupt: Interrupt, payload: Json, says: str
) -> None:
    assert says in (find_fault(interrupt, payload) or "")


def test_an_empty_text_is_none() -> None:
    no = {"approved": False, "respond": ""}

    assert decided(WITH_TEXT, no) == Decline(None, no)
    assert isinstance(decided(WITH_TEXT, {"approved": True, "respond": ""}), Approve)


def test_what_an_adapters_own_schema_means_by_respond_is_its_own() -> None:
    own = {"type": "object", "properties": {"respond": {"type": "string"}}}

    assert decided(approval(APPROVE, DECLINE, schema=own), RESPONDED) == Decline(None, RESPONDED)


# --- questions that may be declined ---


def test_a_question_is_declined_where_that_is_offered() -> None:
    offering = question(ANSWER, DECLINE)
    payload = {"declined": True, "reason": "private"}

    assert decided(offering, payload) == Decline("private", payload)
    assert decided(question(), payload) == Answer(payload)
    assert decided(offering, {"declined": False}) == Answer({"declined": False})


# --- what is said of a decision ---


def made(interrupt: Interrupt, status: Any, payload: Json = None, *, expired: bool = False) -> Any:
    return decide(interrupt, RecordedAnswer(status, payload), expired=expired, actor="ann")


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (made(approval(), "resolved", {"approved": True}), "The user approved this tool call."),
        (
            made(approval(), "resolved", {"approved": True, "editedArgs": {"table": "logs"}}),
            'The user approved this tool call with other arguments: {"table":"logs"}',
        ),
        (
            made(approval(), "resolved", {"approved": False, "reason": "no"}),
            "The user declined this tool call; it was not executed. Reason: no",
        ),
        (made(WITH_TEXT, "resolved", RESPONDED), "Sent by hand."),
        (
            made(approval(), "cancelled"),
            "The approval was cancelled; this tool call was not executed.",
        ),
        (
            made(approval(), "cancelled", expired=True),
            "The time to approve this tool call is over; it was not executed.",
        ),
        (made(question(), "resolved", "blue"), "blue"),
        (made(question(), "resolved", {"a": [1, None]}), '{"a":[1,null]}'),
        (made(question(), "resolved"), "null"),
        (made(question(), "cancelled"), "The question was cancelled; nobody answered it."),
        (
            made(question(), "cancelled", expired=True),
            "The time to answer the question is over; nobody answered it.",
        ),
        (Decline("private", asked="question"), "The user declined to answer. Reason: private"),
    ],
)
def test_every_decision_says_what_a_model_is_told(decision: Any, text: str) -> None:
    assert decision.text == text


def test_a_decision_names_who_decided_and_what_expired_names_nobody() -> None:
    assert made(approval(), "resolved", {"approved": True}).actor == "ann"
    assert made(WITH_TEXT, "resolved", RESPONDED).actor == "ann"
    assert made(question(), "cancelled").actor == "ann"
    assert made(question(), "cancelled", expired=True).actor == ""
