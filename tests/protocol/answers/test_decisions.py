"""What a person sent becomes a decision, or a fault: whatever is not an approval is none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field

from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    CONFIRM_SCHEMA,
    DECLINE,
    EDIT,
    Answer,
    Approve,
    Cancel,
    Decline,
    approval_schema,
    decide,
    find_fault,
)
from agui_bridge.protocol.schemas.checking import check_schema
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, ToolCall

PINNED: Final = {"table": "users", "limit": 10}
PARAMETERS: Final[dict[str, Json]] = {
    "type": "object",
    "required": ["table"],
    "properties": {"table": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}
ALL: Final = (APPROVE, DECLINE, EDIT)


def approval(
    *allowed: str,
    parameters: Mapping[str, Json] | None = PARAMETERS,
    schema: Mapping[str, Json] | None = None,
) -> Interrupt:
    """A question whether a tool may run; everything is allowed unless told otherwise."""
    allowed = allowed or ALL
    editable = EDIT in allowed
    return Interrupt(
        "id", "batch", 0, "native", "tool_call",
        tool_call=ToolCall("call", "delete_rows", PINNED),
        response_schema=schema or approval_schema(parameters, editable=editable),
        allowed=allowed,
    )  # fmt: skip


def question(schema: Mapping[str, Json] | None) -> Interrupt:
    return Interrupt("id", "batch", 0, "native", "input", response_schema=schema)


def decided(interrupt: Interrupt, payload: Json) -> object:
    assert find_fault(interrupt, payload) is None
    return decide(interrupt, RecordedAnswer("resolved", payload), expired=False)


# --- approvals ---

NEAR_MISSES: Final[list[Json]] = [
    None, True, False, 1, 0, 1.0, "", "true", "yes", "approve", [], [True], {}, {"approve": True},
    {"Approved": True}, {"confirm": True}, {"accepted": True}, {"action": "approve"},
    {"approved": "true"}, {"approved": "false"}, {"approved": "yes"}, {"approved": "no"},
    {"approved": ""}, {"approved": 1}, {"approved": 0}, {"approved": 1.0}, {"approved": None},
    {"approved": []}, {"approved": [True]}, {"approved": {}}, {"approved": {"approved": True}},
    {"approved ": True}, {"payload": {"approved": True}}, [{"approved": True}],
    {"reason": "approved"}, {"editedArgs": PINNED},
]  # fmt: skip

SCHEMAS: Final[dict[str, Interrupt]] = {
    "approve, decline, edit": approval(),
    "approve, decline": approval(APPROVE, DECLINE),
    "a schema that takes everything": approval(*ALL, schema={"type": ["object", "string", "null"]}),
    "a schema of the adapter's own": approval(*ALL, schema={"title": "anything"}),
    "no schema": Interrupt(
        "id", "batch", 0, "native", "tool_call", tool_call=ToolCall("c", "t", {}), allowed=ALL
    ),
}


@pytest.mark.parametrize("payload", NEAR_MISSES, ids=repr)
@pytest.mark.parametrize("interrupt", SCHEMAS.values(), ids=SCHEMAS)
def test_near_miss_is_no_approval(interrupt: Interrupt, payload: Json) -> None:
    assert find_fault(interrupt, payload)


def test_approval_has_the_pinned_arguments() -> None:
    assert decided(approval(), {"approved": True}) == Approve(PINNED, {"approved": True})


def test_refusal_has_its_reason() -> None:
    payload = {"approved": False, "reason": "not today"}

    assert decided(approval(), payload) == Decline("not today", payload)
    assert decided(approval(), {"approved": False}) == Decline(None, {"approved": False})


def test_unknown_keys_reach_the_adapter() -> None:
    payload = {"approved": True, "ticket": {"id": 7}, "notes": None}

    made = decided(approval(), payload)

    assert isinstance(made, Approve)
    assert made.payload == payload
    assert made.args == PINNED


@pytest.mark.parametrize(
    ("allowed", "payload", "missing"),
    [
        ((APPROVE,), {"approved": False}, "'decline'"),
        ((DECLINE,), {"approved": True}, "'approve'"),
        ((APPROVE, DECLINE), {"approved": True, "editedArgs": PINNED}, "editing"),
        ((APPROVE, DECLINE), {"approved": True, "editedArgs": None}, "editing"),
        ((APPROVE, DECLINE), {"approved": False, "editedArgs": {}}, "editing"),
    ],
)
def test_decision_that_the_adapter_does_not_support_is_refused(
    allowed: tuple[str, ...], payload: Json, missing: str
) -> None:
    fault = find_fault(approval(*allowed), payload)

    assert fault is not None
    assert missing in fault


# --- edits ---


def test_edited_arguments_replace_the_pinned_ones_whole() -> None:
    payload = {"approved": True, "editedArgs": {"table": "logs"}}

    made = decided(approval(), payload)

    assert made == Approve({"table": "logs"}, payload, edited=True)


def test_edit_can_not_switch_the_tool() -> None:
    payload = {"approved": True, "editedArgs": {"table": "logs"}, "name": "drop", "toolCallId": "x"}
    interrupt = approval()

    made = decided(interrupt, payload)

    assert isinstance(made, Approve)
    assert made.args == {"table": "logs"}
    assert interrupt.tool_call == ToolCall("call", "delete_rows", PINNED)


@pytest.mark.parametrize(
    ("edited", "fault"),
    [
        ({}, '/editedArgs: "table" is missing'),
        ({"table": 1}, "/editedArgs/table: must be a string, not 1"),
        ({"table": "x", "limit": 0}, "/editedArgs/limit: must be at least 1, not 0"),
        ({"table": "x", "all": True}, "/editedArgs: 'all' is not among the properties"),
        (None, "/editedArgs: must be an object, not null"),
        ([], "/editedArgs: must be an object, not []"),
        ("{}", '/editedArgs: must be an object, not "{}"'),
    ],
)
def test_edit_that_violates_the_tools_parameters_is_refused(edited: Json, fault: str) -> None:
    for approved in (True, False):
        found = find_fault(approval(), {"approved": approved, "editedArgs": edited})

        assert found is not None
        assert found.startswith(fault)


def test_refusal_with_edits_is_a_refusal() -> None:
    payload = {"approved": False, "editedArgs": {"table": "logs"}}

    assert decided(approval(), payload) == Decline(None, payload)


@pytest.mark.parametrize("edited", [None, [], "x", 1])
def test_edit_is_an_object_even_where_the_schema_does_not_say_so(edited: Json) -> None:
    fault = find_fault(
        approval(*ALL, schema={"title": "anything"}), {"approved": True, "editedArgs": edited}
    )

    assert fault is not None
    assert "must be an object" in fault


# --- the schema that is offered ---


class Place(BaseModel):
    city: str = Field(min_length=1)


class Trip(BaseModel):
    origin: Place
    stops: list[Place] = []


def test_pydantic_parameters_are_checked_through_their_definitions() -> None:
    interrupt = approval(parameters=Trip.model_json_schema())
    assert interrupt.response_schema is not None
    check_schema(interrupt.response_schema)

    good = {"approved": True, "editedArgs": {"origin": {"city": "Riga"}, "stops": []}}
    bad = {"approved": True, "editedArgs": {"origin": {"city": "Riga"}, "stops": [{"city": ""}]}}

    assert find_fault(interrupt, good) is None
    assert find_fault(interrupt, bad) == "/editedArgs/stops/0/city: must not be empty"


def test_pointers_into_the_parameters_lead_to_the_same_place() -> None:
    # As zod-to-json-schema writes a schema that is used twice.
    parameters: dict[str, Json] = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:tool",
        "type": "object",
        "properties": {
            "reason": {"type": "integer"},
            "again": {"$ref": "#/properties/reason"},
            "pair": {"type": "array", "items": [{"$ref": "#/definitions/n"}]},
        },
        "definitions": {"n": {"type": "number"}},
    }
    interrupt = approval(parameters=parameters)
    assert interrupt.response_schema is not None
    check_schema(interrupt.response_schema)

    good = {"approved": True, "editedArgs": {"again": 1, "pair": [0.5, "x"]}}

    assert find_fault(interrupt, good) is None
    for edited in ({"again": "text"}, {"pair": ["x"]}):
        assert find_fault(interrupt, {"approved": True, "editedArgs": edited})


def test_parameters_of_an_unsupported_draft_are_taken_as_the_default_draft() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}

    assert "$schema" not in approval_schema(old, editable=True)


def test_offered_schema_shows_edits_only_where_they_are_supported() -> None:
    assert approval_schema(PARAMETERS, editable=False) == {
        "type": "object",
        "required": ["approved"],
        "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    }
    editable = approval_schema(PARAMETERS, editable=True)
    assert editable["properties"]["editedArgs"] == PARAMETERS


def test_unknown_parameters_may_be_edited_to_any_object() -> None:
    schema = approval_schema(None, editable=True)

    assert schema["properties"]["editedArgs"] == {"type": "object"}


def test_parameters_are_not_changed_by_offering_them() -> None:
    parameters = Trip.model_json_schema()

    approval_schema(parameters, editable=True)

    assert parameters == Trip.model_json_schema()


# --- questions ---


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}, 0.0])
def test_falsy_payload_is_an_answer(payload: Json) -> None:
    assert decided(question(None), payload) == Answer(payload)
    assert decided(question({}), payload) == Answer(payload)


def test_confirmation_needs_a_boolean() -> None:
    confirm = question(CONFIRM_SCHEMA)

    assert decided(confirm, {"confirm": False}) == Answer({"confirm": False})
    assert (
        find_fault(confirm, {"confirm": "false"}) == '/confirm: must be true or false, not "false"'
    )
    assert find_fault(confirm, None) == "the payload: must be an object, not null"


@pytest.mark.parametrize("interrupt", [approval(), question(None)], ids=["approval", "question"])
def test_what_nobody_decided_is_a_cancel(interrupt: Interrupt) -> None:
    cancelled, approved = (
        RecordedAnswer("cancelled"),
        RecordedAnswer("resolved", {"approved": True}),
    )

    assert decide(interrupt, cancelled, expired=False) == Cancel("cancelled")
    assert decide(interrupt, cancelled, expired=True) == Cancel("expired")
    # Even an answer that was held: it expired with its ask.
    assert decide(interrupt, approved, expired=True) == Cancel("expired")


# --- properties ---

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
decision_like = st.dictionaries(
    st.sampled_from(("approved", "reason", "editedArgs", "confirm", "Approved")),
    json_values | st.just(True) | st.just(PINNED),
)


@given(st.sampled_from(list(SCHEMAS.values())), json_values | decision_like)
def test_nothing_but_true_executes(interrupt: Interrupt, payload: Json) -> None:
    if find_fault(interrupt, payload) is not None:
        return
    made = decide(interrupt, RecordedAnswer("resolved", payload), expired=False)

    assert isinstance(payload, dict)
    assert interrupt.tool_call is not None
    if isinstance(made, Approve):
        assert payload["approved"] is True
        assert made.args == payload.get("editedArgs", interrupt.tool_call.args)
    else:
        assert isinstance(made, Decline)
        assert payload["approved"] is False


@pytest.mark.parametrize("payload", [{"approved": True}, {"approved": "true"}], ids=str)
def test_checking_an_answer_costs_microseconds(payload: Json) -> None:
    interrupt = approval()
    find_fault(interrupt, payload)
    laps = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(200):
            find_fault(interrupt, payload)
        laps.append((time.perf_counter() - began) / 200)

    # It takes about 40 µs; compiling the schema anew each time would take milliseconds.
    assert min(laps) < 0.001
