"""Chunk events: what they stand for."""

import pytest

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.verifier.shapes import Fault
from agui_bridge.protocol.verifier.verifier import Chunks


def expand(*events: WireEvent) -> list[WireEvent]:
    chunks, out = Chunks(), list[WireEvent]()
    for event in events:
        made = chunks.expand(event)
        assert not isinstance(made, Fault), made
        out += made
    return out


def text(delta: str, message: str | None = None, **members: str) -> WireEvent:
    named = {} if message is None else {"messageId": message}
    return {"type": "TEXT_MESSAGE_CHUNK", **named, "delta": delta, **members}


FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def test_chunks_become_one_message_that_the_end_of_the_run_closes() -> None:
    assert expand(text("a", "m"), text("b"), text("c", "m"), FINISHED) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "b"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "c"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        FINISHED,
    ]


def test_another_id_begins_another_message() -> None:
    kinds = [event["type"] for event in expand(text("a", "m"), text("b", "n"))]
    assert kinds == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
    ]


def test_a_tool_call_begins_with_its_name_and_ends_a_message() -> None:
    call = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{"}
    assert expand(text("a", "m"), call, {"type": "TOOL_CALL_CHUNK", "delta": "}"})[2:] == [
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "}"},
    ]


def test_subagents_stream_beside_each_other() -> None:
    events = expand(text("a", "m"), text("b", "n", subagentRunId="s"), text("c"))
    assert [event.get("messageId") for event in events] == ["m", "m", "n", "n", "m"]


@pytest.mark.parametrize(
    ("event", "missing"),
    [
        (text("a"), "messageId"),
        ({"type": "TOOL_CALL_CHUNK", "delta": "{"}, "toolCallId"),
        ({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "{"}, "toolCallName"),
    ],
)
def test_a_first_chunk_that_names_nothing_is_a_fault(event: WireEvent, missing: str) -> None:
    fault = Chunks().expand(event)
    assert isinstance(fault, Fault)
    assert missing in fault.message


def test_an_unknown_event_goes_through_and_ends_nothing() -> None:
    events = expand(text("a", "m"), {"type": "SOMETHING_NEW"}, text("b"))
    assert [event["type"] for event in events[2:]] == ["SOMETHING_NEW", "TEXT_MESSAGE_CONTENT"]
