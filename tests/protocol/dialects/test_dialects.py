"""Wire dialects: version negotiation, what input is refused, and shapes for older clients."""

from __future__ import annotations

import copy
import tracemalloc
from typing import Any

import pytest

from agui_bridge.errors import Refused
from agui_bridge.protocol.dialects import V0, V1, V1_1, parse_input
from agui_bridge.protocol.threads.records import RecordedAnswer

BODY: dict[str, Any] = {"threadId": "t", "runId": "r", "messages": []}


def parse(**members: Any) -> Any:
    return parse_input({**BODY, **members})


@pytest.mark.parametrize(
    ("version", "dialect", "warned"),
    [
        (None, V0, False),
        ("1.0", V1, False),
        ("1.1", V1_1, False),
        ("1.7", V1_1, True),
        ("0.0", V0, False),
        ("0.0.59", V0, False),
        ("one", V1_1, True),
        ("1", V1_1, True),
    ],
)
def test_the_declared_version_chooses_the_dialect(version: Any, dialect: Any, warned: bool) -> None:
    parsed = parse(**({} if version is None else {"protocolVersion": version}))
    assert parsed.dialect is dialect
    assert bool(parsed.warnings) is warned


def test_another_major_version_is_refused_before_the_run() -> None:
    with pytest.raises(Refused) as caught:
        parse(protocolVersion="2.0")
    assert caught.value.code == "UNSUPPORTED_VERSION"


def test_unknown_members_are_ignored_with_a_warning() -> None:
    parsed = parse(protocolVersion="1.0", surprise=1, another=2)
    assert parsed.warnings == ("unknown members were ignored: ['another', 'surprise']",)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"runId": "r", "messages": []}, "threadId"),
        ({**BODY, "threadId": ""}, "threadId"),
        ({**BODY, "runId": ""}, "runId"),
        ({**BODY, "runId": 7}, "runId"),
        ({**BODY, "messages": None}, "messages"),
        ({**BODY, "messages": [{"id": "m", "role": "wizard"}]}, "messages.0.role"),
        ({**BODY, "messages": [{"id": "m"}]}, "messages.0.role"),
        (
            {
                **BODY,
                "messages": [{"id": "m", "role": "tool", "toolCallId": "c", "content": {"a": 1}}],
            },
            "messages.0.content",
        ),
        ({**BODY, "messages": [{"id": "m", "role": "user"}]}, "messages.0.content"),
        (
            {**BODY, "messages": [{"id": "m", "role": "user", "content": [{"type": "text"}]}]},
            "messages.0.content.0.text",
        ),
        ({**BODY, "resume": "i"}, "resume"),
        ({**BODY, "resume": {"interruptId": 7}}, "resume.interruptId"),
        ({**BODY, "resume": [{"interruptId": "i"}]}, "resume.0.status"),
        ({**BODY, "resume": [{"interruptId": "i", "status": "done"}]}, "resume.0.status"),
        ({**BODY, "tools": "all"}, "tools"),
    ],
)
def test_a_malformed_field_is_refused_by_name(body: Any, field: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_input(body)
    assert caught.value.code == "INVALID_INPUT"
    assert caught.value.details["field"] == field
    assert field in caught.value.message


SAID = [
    ({"threadId": 7}, "threadId: must be a string."),
    ({"tools": "all"}, "tools: must be a list."),
    ({"messages": [5]}, "messages.0: must be an object."),
    ({"messages": [{"role": "user", "content": "x"}]}, "messages.0.id: is missing."),
    ({"messages": [{"id": "m"}]}, "messages.0.role: is missing."),
    (
        {"messages": [{"id": "m", "role": "king"}]},
        "messages.0.role: must be one of 'developer', 'system', 'assistant', 'user', 'tool', "
        "'activity', 'reasoning'.",
    ),
    (
        {"messages": [{"id": "m", "role": "user", "content": 5}]},
        "messages.0.content: must be a string or a list of content parts.",
    ),
    ({"resume": [5]}, "resume.0: must be an object."),
    (
        {"resume": [{"interruptId": "i", "status": "done"}]},
        "resume.0.status: must be 'resolved' or 'cancelled'.",
    ),
]


@pytest.mark.parametrize(("members", "said"), SAID)
def test_a_malformed_field_is_told_in_words_of_json(members: Any, said: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_input({**BODY, **members})
    assert caught.value.message == said


@pytest.mark.parametrize("body", [None, [], "x", 3, True])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(Refused, match="JSON object"):
        parse_input(body)


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"messages": [{"id": "m", "role": "user", "content": [0] * 10}] * 2_000}, "messages.0."),
        ({"tools": [{}] * 10_000}, "tools.0.name"),
        ({"context": [{}] * 10_000}, "context.0.description"),
        ({"resume": [{}] * 10_000}, "resume.0.interruptId"),
    ],
)
def test_of_a_list_only_the_first_bad_member_is_described(members: Any, field: str) -> None:
    # Twenty thousand descriptions, of which one is told, would take some 20 MB.
    tracemalloc.start()
    try:
        with pytest.raises(Refused) as caught:
            parse(**members)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.details["field"].startswith(field)
    assert most < 2_000_000


@pytest.mark.parametrize("value", ["\x00", "\ud800", float("nan"), float("inf")])
def test_what_json_may_not_hold_is_refused_wherever_it_stands(value: Any) -> None:
    with pytest.raises(Refused, match="forwardedProps"):
        parse(forwardedProps={"deep": [value]})


def test_an_absent_payload_is_recorded_as_null_and_an_empty_resume_is_none() -> None:
    entries = parse(resume=[{"interruptId": "i", "status": "resolved"}]).entries
    assert [entry.answer for entry in entries] == [RecordedAnswer("resolved", None)]
    assert parse(resume=[]).entries == parse(resume=None).entries == ()


@pytest.mark.parametrize(
    ("members", "has_state"),
    [({}, False), ({"state": None}, False), ({"state": {}}, False), ({"state": {"a": 1}}, True),
     ({"state": []}, True), ({"state": 0}, True), ({"state": False}, True)],
)  # fmt: skip
def test_an_empty_state_is_none_because_every_fresh_client_sends_one(
    members: Any, has_state: bool
) -> None:
    assert parse(**members).has_state is has_state


INTERRUPT = {"id": "i", "reason": "tool_call", "expiresAt": "2026-01-01T00:00:00.000Z"}


def finished(**members: Any) -> dict[str, Any]:
    return {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **members}


@pytest.mark.parametrize(
    ("event", "older"),
    [
        (
            finished(outcome={"type": "cancelled"}),
            finished(result={"stopReason": "USER_INTERRUPTED"}),
        ),
        (
            finished(outcome={"type": "success", "pendingToolCallIds": ["c"]}, result=1),
            finished(outcome={"type": "success"}, result=1),
        ),
        (
            finished(outcome={"type": "interrupt", "interrupts": [INTERRUPT]}),
            finished(
                outcome={"type": "interrupt", "interrupts": [{"id": "i", "reason": "tool_call"}]}
            ),
        ),
        ({"type": "RUN_ERROR", "message": "m"}, {"type": "RUN_ERROR", "message": "m"}),
    ],
)
def test_older_clients_get_only_shapes_that_they_accept(event: Any, older: Any) -> None:
    before = copy.deepcopy(event)
    assert V0.outgoing(event) == (older,)
    assert V1.outgoing(event) == (before,) == (event,)


@pytest.mark.parametrize("thread", [".", "..", "a/stop", "a/connect", "a/interrupts"])
def test_a_thread_that_no_path_can_name_is_refused_on_every_surface(thread: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_input({"threadId": thread, "runId": "r", "messages": []})
    assert refused.value.code == "INVALID_INPUT"
    assert refused.value.details == {"field": "threadId"}
