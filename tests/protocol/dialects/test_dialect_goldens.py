"""The JSON examples of the draft, both ways, and what the draft leaves open.

Source: AG-UI's draft "Interrupt-Aware Run Lifecycle", "Implementation Examples" and "Contract
Rules".
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.errors import Refused
from agui_bridge.protocol.answers.decisions import approval_schema
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.dialects import Dialect, parse_input, proposal_of
from agui_bridge.protocol.dialects.dialect import (
    CommandReader,
    command_resume,
    draft_resume,
    from_draft,
)
from agui_bridge.protocol.threads.records import RecordedAnswer
from agui_bridge.protocol.wire.run_events import CANCELLED, SUCCESS, run_finished

EMAIL = {"to": "a@b.com", "subject": "Hi", "body": "…"}
MINIMAL = {
    "type": "RUN_FINISHED",
    "threadId": "t1",
    "runId": "r1",
    "outcome": "interrupt",
    "interrupt": {
        "id": "int-abc123",
        "reason": "human_approval",
        "payload": {"proposal": {"tool": "sendEmail", "args": EMAIL}},
    },
}
MINIMAL_ANSWER = {
    "threadId": "t1",
    "runId": "r2",
    "resume": {"interruptId": "int-abc123", "payload": {"approved": True}},
}
DELETION = {
    "action": "DELETE",
    "table": "users",
    "affectedRows": 42,
    "query": "DELETE FROM users WHERE last_login < '2023-01-01'",
    "rollbackPlan": "Restore from backup snapshot-2025-01-23",
    "riskLevel": "high",
}
COMPLEX = {
    "type": "RUN_FINISHED",
    "threadId": "thread-456",
    "runId": "run-789",
    "outcome": "interrupt",
    "interrupt": {"id": "approval-001", "reason": "database_modification", "payload": DELETION},
}
MODIFIED = {"approved": True, "modifications": {"batchSize": 10, "dryRun": True}}
COMPLEX_ANSWER = {
    "threadId": "thread-456",
    "runId": "run-790",
    "resume": {"interruptId": "approval-001", "payload": MODIFIED},
}

ASSISTANT = {
    "id": "m",
    "role": "assistant",
    "toolCalls": [
        {
            "id": "c",
            "type": "function",
            "function": {
                "name": "sendEmail",
                "arguments": '{"to":"a@b.com","subject":"Hi","body":"…"}',
            },
        }
    ],
}
ASKED_EMAIL = {
    "id": "int-abc123",
    "reason": "tool_call",
    "toolCallId": "c",
    "responseSchema": approval_schema(None, editable=False),
}
ASKED_DELETION = {"id": "approval-001", "reason": "database_modification", "metadata": DELETION}


def interrupted(*interrupts: Any, thread: str = "t1", run: str = "r1") -> Any:
    return run_finished(thread, run, {"type": "interrupt", "interrupts": list(interrupts)})


def told(dialect: Dialect, event: Any) -> list[Any]:
    return list(dialect.outgoing(event, lambda call: proposal_of([ASSISTANT], call)))


def dialect(choice: Any, **members: Any) -> Dialect:
    body = {"threadId": "t", "runId": "r", "messages": [], **members}
    return parse_input(body, choice=choice).dialect


def test_the_minimal_example_goes_out_as_it_is_written() -> None:
    assert told(dialect("draft"), interrupted(ASKED_EMAIL)) == [MINIMAL]


def test_the_complex_example_goes_out_as_it_is_written() -> None:
    event = interrupted(ASKED_DELETION, thread="thread-456", run="run-789")
    assert told(dialect("draft"), event) == [COMPLEX]


@pytest.mark.parametrize(
    ("body", "interrupt", "payload"),
    [
        (MINIMAL_ANSWER, "int-abc123", {"approved": True}),
        (COMPLEX_ANSWER, "approval-001", MODIFIED),
    ],
    ids=["minimal", "complex"],
)
def test_the_answers_come_in_as_they_are_written(
    body: dict[str, Any], interrupt: str, payload: Any
) -> None:
    parsed = parse_input(body)
    assert parsed.entries == (Entry(interrupt, RecordedAnswer("resolved", payload)),)
    assert parsed.dialect.name == "draft"
    assert parsed.messages == ()
    assert parsed.warnings == ()


@pytest.mark.parametrize("event", [MINIMAL, COMPLEX], ids=["minimal", "complex"])
def test_a_client_reads_the_examples(event: dict[str, Any]) -> None:
    theirs: Any = event["interrupt"]
    (asked,) = from_draft(event)["outcome"]["interrupts"]
    assert (asked["id"], asked["reason"]) == (theirs["id"], theirs["reason"])
    assert asked["metadata"] == theirs["payload"]


@pytest.mark.parametrize(
    ("body", "entry"),
    [
        (MINIMAL_ANSWER, {"interruptId": "int-abc123", "payload": {"approved": True}}),
        (COMPLEX_ANSWER, {"interruptId": "approval-001", "payload": MODIFIED}),
    ],
)
def test_a_client_writes_the_answers(body: dict[str, Any], entry: dict[str, Any]) -> None:
    assert draft_resume({**entry, "status": "resolved"}) == {"resume": body["resume"]}


@pytest.mark.parametrize(
    ("members", "interrupts"),
    [
        ({}, None),
        ({"outcome": "success", "result": 1}, None),
        ({"result": 1}, None),
        ({"interrupt": {"id": "i"}}, 1),
        ({"outcome": "interrupt", "interrupt": {}}, 1),
        ({"outcome": "success", "interrupt": {"id": "i"}}, None),
    ],
)
def test_an_omitted_outcome_is_what_the_rest_of_the_event_says(
    members: dict[str, Any], interrupts: int | None
) -> None:
    event = from_draft({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **members})
    assert len(event.get("outcome", {}).get("interrupts", ())) == (interrupts or 0)
    assert event.get("result") == members.get("result")
    assert "interrupt" not in event


def test_success_is_a_string_and_a_stop_is_no_success() -> None:
    draft = dialect("draft")
    (finished,) = draft.outgoing(run_finished("t", "r", SUCCESS, result={"n": 1}))
    assert (finished["outcome"], finished["result"]) == ("success", {"n": 1})
    (stopped,) = draft.outgoing(run_finished("t", "r", CANCELLED))
    assert "outcome" not in stopped
    assert stopped["result"] == {"stopReason": "USER_INTERRUPTED"}


def test_one_question_is_told_at_a_time_with_all_that_a_form_needs() -> None:
    schema = {"type": "object", "properties": {"quarter": {"type": "string"}}}
    form = {
        "id": "q",
        "reason": "input_required",
        "message": "Which?",
        "responseSchema": schema,
        "expiresAt": "2026-01-01T00:00:00.000Z",
    }
    for choice in ("draft", "langgraph"):
        assert dialect(choice).answers_singly
    (event,) = told(dialect("draft"), interrupted(form, ASKED_EMAIL))
    assert event["interrupt"] == {
        "id": "q",
        "reason": "input_required",
        "payload": {
            "message": "Which?",
            "responseSchema": schema,
            "expiresAt": "2026-01-01T00:00:00.000Z",
        },
    }


def test_an_answer_that_names_nothing_is_marked_and_answers_nothing() -> None:
    for resume in ({"payload": {"approved": True}}, {"interruptId": None}, {"interruptId": ""}):
        parsed = parse_input({"threadId": "t", "runId": "r", "resume": resume})
        assert (parsed.entries, parsed.unnamed_answer) == ((), True)


def test_the_draft_cannot_cancel_but_a_cancel_is_never_taken_for_an_answer() -> None:
    resume = {"interruptId": "i", "status": "cancelled", "payload": {"approved": True}}
    parsed = parse_input({"threadId": "t", "runId": "r", "resume": resume})
    assert parsed.entries == (Entry("i", RecordedAnswer("cancelled")),)


@pytest.mark.parametrize(
    ("resume", "field"),
    [
        ({"interruptId": 7}, "resume.interruptId"),
        ({"interruptId": "i", "status": "done"}, "resume.status"),
    ],
)
def test_a_malformed_answer_is_refused_by_name(resume: Any, field: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_input({"threadId": "t", "runId": "r", "resume": resume})
    assert refused.value.details == {"field": field}


# --- langgraph ------------------------------------------------------------------------------


def test_langgraph_says_the_question_in_a_custom_event() -> None:
    value = {**ASKED_EMAIL, "proposal": {"tool": "sendEmail", "args": EMAIL}}
    custom = {"type": "CUSTOM", "name": "on_interrupt", "value": value}
    plain = {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1"}
    event = interrupted(ASKED_EMAIL, ASKED_DELETION)
    assert told(dialect("langgraph"), event) == [custom, plain]
    assert told(dialect("langgraph-both", protocolVersion="1.0"), event) == [custom, event]


def command(**members: Any) -> dict[str, Any]:
    return {
        "threadId": "t",
        "runId": "r",
        "messages": [],
        "forwardedProps": {"command": members, "other": 1},
    }


def test_its_command_answers_the_interrupt_of_its_event() -> None:
    value = {"id": "i", "reason": "tool_call"}
    for asked in (value, '{"id": "i"}'):
        parsed = parse_input(command(resume={"approved": True}, interruptEvent=asked))
        assert parsed.entries == (Entry("i", RecordedAnswer("resolved", {"approved": True})),)
        assert (parsed.dialect.name, parsed.dialect.answers_singly) == ("langgraph", True)
        assert dict(parsed.input.forwarded_props or {})["other"] == 1
    refused = parse_input(command(resume=False, interruptEvent=value))
    assert refused.entries == (Entry("i", RecordedAnswer("resolved", False)),)


def test_a_command_without_its_event_is_an_answer_that_names_nothing() -> None:
    for members in ({"resume": True}, {"resume": True, "interruptEvent": "Really?"}):
        parsed = parse_input(command(**members))
        assert (parsed.entries, parsed.unnamed_answer) == ((), True)
    # And no answer at all is no answer.
    parsed = parse_input(command(update={"a": 1}))
    assert (parsed.unnamed_answer, parsed.dialect.name) == (False, "0.x")


def test_a_resume_beside_the_command_goes_first() -> None:
    entry = {"interruptId": "a", "status": "resolved", "payload": 1}
    body = {**command(resume=2, interruptEvent={"id": "b"}), "resume": [entry]}
    parsed = parse_input(body)
    assert [e.interrupt_id for e in parsed.entries] == ["a"]
    assert parsed.dialect.name == "0.x"


def test_langgraph_says_what_the_graphs_author_gave_and_its_id_beside_it() -> None:
    given = {"steps": [{"text": "one"}], "message": "Which steps?"}
    asked = {
        "id": "i",
        "reason": "langgraph:interrupt",
        "message": "Which steps?",
        "metadata": {"value": given},
    }
    event = interrupted(asked)
    custom, _ = told(dialect("langgraph"), event)
    value = json.loads(custom["value"])
    assert value.pop("agui_bridge") == {**asked, "metadata": {}}
    assert value == given
    for repeated in (custom["value"], json.loads(custom["value"])):
        parsed = parse_input(command(resume={"steps": []}, interruptEvent=repeated))
        assert [entry.interrupt_id for entry in parsed.entries] == ["i"]
    reader = CommandReader()
    reader.read(custom)
    ended = reader.read({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    assert [(one["id"], one["message"]) for one in ended["outcome"]["interrupts"]] == [
        ("i", "Which steps?")
    ]


def test_a_client_that_knows_both_answers_its_list_whole_and_its_command_singly() -> None:
    assert not dialect("langgraph-both").answers_singly
    one = command(resume=1, interruptEvent={"id": "i"})
    assert parse_input(one, choice="langgraph-both").dialect.answers_singly


def test_ag_uis_own_dialect_reads_no_command_and_answers_an_object_in_its_own_shape() -> None:
    parsed = parse_input(command(resume=1, interruptEvent={"id": "i"}), choice="ag-ui")
    assert (parsed.entries, parsed.unnamed_answer, parsed.dialect.name) == ((), False, "0.x")
    parsed = parse_input(MINIMAL_ANSWER, choice="ag-ui")
    assert [entry.interrupt_id for entry in parsed.entries] == ["int-abc123"]
    assert (parsed.dialect.name, parsed.dialect.answers_singly) == ("0.x", False)


@pytest.mark.parametrize("value", [{"id": "i", "message": "Go?"}, "Go?", ["a", 1], None])
def test_a_client_reads_a_pause_whatever_its_value_and_answers_with_it(value: Any) -> None:
    reader = CommandReader()
    custom = {"type": "CUSTOM", "name": "on_interrupt", "value": value}
    assert reader.read(custom) == custom
    finished = reader.read({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
    (asked,) = finished["outcome"]["interrupts"]
    assert asked["metadata"]["on_interrupt"] == value
    assert asked["message"]
    answer = command_resume({"payload": 1}, value)
    assert answer == {"forwardedProps": {"command": {"resume": 1, "interruptEvent": value}}}
