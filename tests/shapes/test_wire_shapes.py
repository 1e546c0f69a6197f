"""The schemas of a run say what the code does: what it takes, sends and refuses."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from agui_bridge.errors import CODES, Refused
from agui_bridge.http.endpoint import error_response
from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA, approval_schema, find_fault
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.protocol.dialects import V0, V1, parse_input
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES
from agui_bridge.protocol.threads.records import Interrupt, ToolCall
from agui_bridge.protocol.wire.run_events import (
    CANCELLED,
    SUCCESS,
    interrupt_outcome,
    messages_snapshot,
    run_error,
    run_finished,
    run_started,
    state_snapshot,
)
from tests.http.agui.test_refusals import VALID, WRONG_FIELDS
from tests.shapes.instances import smallest, spoilt
from tests.support.shapes import SCHEMAS, fault_of

EVENTS: Final = json.loads((SCHEMAS / "events.json").read_text(encoding="utf-8"))
BRANCHES: Final = {
    EVENTS["$defs"][choice["$ref"].removeprefix("#/$defs/")]["properties"]["type"]["const"]: (
        EVENTS["$defs"][choice["$ref"].removeprefix("#/$defs/")]
    )
    for choice in EVENTS["oneOf"]
}
EVENT: Final[TypeAdapter[Any]] = TypeAdapter(Event)

FULL: Final = Interrupt(
    "i1", "b", 0, "native", "tool_call", message="May it?",
    tool_call=ToolCall("c1", "send", {"to": "ann"}), response_schema={"type": "object"},
    allowed=("approve", "decline"), expires_at=2e9, subagent_run_id="s1", metadata={"a": None},
)  # fmt: skip
BARE: Final = Interrupt("i2", "b", 1, "native", "input_required")


def own(kind: str) -> dict[str, Any]:
    """A small event; the engine's own have more than their schemas can tell `smallest`."""
    made: dict[str, Any] = smallest(BRANCHES[kind], EVENTS)
    return {**made, "outcome": {"type": "success"}} if kind == "RUN_FINISHED" else made


def test_the_events_are_those_that_leave_the_lifecycle() -> None:
    sent = {kind for kind, rule in EVENT_RULES.items() if rule.verb != "chunk"}

    assert set(BRANCHES) == sent == set(EVENTS["properties"]["type"]["enum"])


@pytest.mark.parametrize("kind", BRANCHES)
def test_a_small_event_of_each_type_is_valid_here_and_for_the_official_types(kind: str) -> None:
    event = own(kind)

    EVENT.validate_python(event)

    assert fault_of(event, "events.json") is None


@pytest.mark.parametrize("kind", BRANCHES)
def test_an_event_with_one_member_spoilt_is_none(kind: str) -> None:
    cases = list(spoilt(own(kind), BRANCHES[kind], EVENTS))

    passing = [what for what, event in cases if fault_of(event, "events.json") is None]

    assert len(cases) > 3
    assert passing == []


@pytest.mark.parametrize(
    "outcome",
    [
        SUCCESS,
        {"type": "success", "pendingToolCallIds": ["c1"]},
        CANCELLED,
        interrupt_outcome([FULL, BARE]),
    ],
    ids=["success", "pending", "cancelled", "interrupt"],
)
@pytest.mark.parametrize("dialect", [V0, V1], ids=["0.x", "1.0"])
def test_every_outcome_in_every_dialect_is_valid(dialect: Any, outcome: Any) -> None:
    for result in (None, {"rows": 3}):
        (event,) = dialect.outgoing(run_finished("t", "r", outcome, result=result, usage=[{}]))

        assert fault_of(event, "events.json") is None


def test_the_rest_of_the_frame_is_valid() -> None:
    message = {"id": "m", "role": "assistant", "content": None, "unknown": 1}
    frame = [
        run_started("t", "r"),
        state_snapshot(None),
        messages_snapshot([message, {"id": "u", "role": "user", "content": "hi"}]),
        *(run_error(code, "text") for code, entry in CODES.items() if entry.stream),
    ]

    assert [fault_of(event, "events.json") for event in frame] == [None] * len(frame)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x"},
        {"type": "THINKING_START"},
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "0.9"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": "paused"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"stopReason": "no"}},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "paused"}},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {}},
        run_finished("t", "r", {"type": "interrupt", "interrupts": []}),
        run_finished("t", "r", {"type": "interrupt", "interrupts": [{"id": "i"}]}),
        {"type": "RUN_ERROR", "message": "no code"},
        run_error("OH_DEAR", "an unknown code"),
        run_error("AGENT_NOT_FOUND", "a code that is no event's"),
        messages_snapshot([{"id": "m", "content": "x"}]),
        messages_snapshot([{"id": "m", "role": "nobody", "content": "x"}]),
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "a", "value": 1}]},
        {},
        [],
        None,
    ],
    ids=repr,
)
def test_what_the_bridge_never_sends_is_invalid(event: Any) -> None:
    assert fault_of(event, "events.json") is not None


def accepted(body: Any) -> bool:
    try:
        parse_input(body)
    except Refused:
        return False
    return True


@pytest.mark.parametrize(
    "members",
    [
        *({field: value} for field, value, _ in WRONG_FIELDS),
        *(
            {"protocolVersion": version}
            for version in ["1.0", "1.7", "0.0.59", "0.", "one", "1", "", "2.0", "01.0", "10.1",
                            "2", "2.0.0", "1.0 ", "1.1234567", "1234567.1", None]
        ),
        {"protocolVersion": "\u0661.\u0660"},
        *({name: None} for name in VALID),
        *({name: []} for name in ("messages", "tools", "context", "resume")),
        {"resume": [{"interruptId": "i", "status": "resolved", "payload": None}]},
        {"resume": [{"interruptId": "i", "status": "resolved", "metadata": None}]},
        {"unknown": 1},
        {"state": None, "parentRunId": None, "forwardedProps": [1]},
        {"messages": [{"id": "1", "role": "assistant", "content": None, "toolCalls": None}]},
        {"messages": [{"id": "1", "role": "assistant", "toolCalls": [
            {"id": "c", "function": {"name": "f", "arguments": "{}"}}]}]},
        {"messages": [{"id": "1", "role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"messages": [{"id": "1", "role": "user", "content": [{"text": "x"}]}]},
        {"tools": [{"name": "t", "description": "d", "parameters": {}}]},
        {"context": [{"description": "d", "value": "v"}]},
    ],
    ids=lambda members: f"{members!r:.60}",
)  # fmt: skip
def test_the_schema_of_the_input_and_its_parser_agree(members: dict[str, Any]) -> None:
    body = {**VALID, **members}

    assert (fault_of(body, "run-input.json") is None) is accepted(body)
    if isinstance(members.get("resume"), list):
        assert (fault_of(members["resume"], "resume.json") is None) is accepted(body)


@pytest.mark.parametrize("body", [None, [], "text", {}, {"threadId": "t", "runId": "r"}])
def test_what_is_no_input_at_all_is_none_for_both(body: Any) -> None:
    assert fault_of(body, "run-input.json") is not None
    assert not accepted(body)


@pytest.mark.parametrize(
    "payload",
    [
        {"approved": True}, {"approved": False, "reason": "no"}, {"approved": True, "more": 1},
        {"approved": True, "editedArgs": {"to": "eve"}},
        {"approved": "true"}, {"approved": 1}, {"approved": None}, {}, [], None, True, "yes",
        {"Approved": True}, {"approved": True, "editedArgs": None}, {"approved": True, "reason": 5},
        {"approved": True, "editedArgs": ["to"]},
    ],
    ids=repr,
)  # fmt: skip
def test_an_approval_is_one_for_the_schema_if_it_is_for_the_check(payload: Any) -> None:
    ask = Interrupt(
        "i", "b", 0, "n", "tool_call",
        tool_call=ToolCall("c", "send", {}),
        response_schema=approval_schema(None, editable=True),
        allowed=("approve", "decline", "edit"),
    )  # fmt: skip

    shown = fault_of(payload, "decisions.json", "/$defs/ToolApproval")

    assert (shown is None) is (find_fault(ask, payload) is None)


@pytest.mark.parametrize("payload", [{"confirm": True}, {"confirm": "yes"}, {}, None, True])
def test_a_confirmation_is_one_for_the_schema_if_it_is_for_the_check(payload: Any) -> None:
    ask = Interrupt("i", "b", 0, "n", "confirmation", response_schema=CONFIRM_SCHEMA)

    shown = fault_of(payload, "decisions.json", "/$defs/Confirmation")

    assert (shown is None) is (find_fault(ask, payload) is None)


def test_fields_of_forms_are_valid_as_they_are_written() -> None:
    written = [
        FormField("a").to_json(),
        FormField("b", "confirm", "Go on?", required=True).to_json(),
        FormField("c", "select", options=("x", "y")).to_json(),
    ]
    wrong = [{**written[0], "options": ["x"]}, {**written[2], "options": []}, {"name": "a"}]

    assert [fault_of(field, "decisions.json", "/$defs/FormField") for field in written] == [
        None
    ] * 3
    assert None not in [fault_of(field, "decisions.json", "/$defs/FormField") for field in wrong]


def test_an_interrupt_is_valid_as_clients_see_it_and_not_without_its_id() -> None:
    for public in interrupt_outcome([FULL, BARE])["interrupts"]:
        assert fault_of(public, "interrupt.json") is None
        assert fault_of({**public, "id": None}, "interrupt.json") is not None
        assert fault_of({**public, "message": None}, "interrupt.json") is not None


def test_the_body_of_an_error_is_valid_for_every_code_and_no_other() -> None:
    for code in CODES:
        for details in (None, {"field": "a"}):
            body = json.loads(bytes(error_response(Refused(code, "text", details)).body))
            assert fault_of(body, "error.json") is None
    assert fault_of({"error": {"code": "OH_DEAR", "message": "x"}}, "error.json") is not None
    assert fault_of({"error": {"code": "FORBIDDEN"}}, "error.json") is not None
    assert fault_of({"detail": "Not Found"}, "error.json") is not None
