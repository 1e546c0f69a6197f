"""NexAU's events become AG-UI's."""

from __future__ import annotations

from typing import Any

from agui_bridge.adapters import Run
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal
from agui_bridge_nexau.reader import Reader
from agui_bridge_nexau.requests import Request
from tests.adapters.nexau.bench import FINISHED, answering
from tests.support.agents import outcome


def kinds(*events: dict[str, Any]) -> list[str]:
    reader = Reader(lambda: "minted", str)
    found = [e for event in events for e in reader.take(event)] + reader.close()
    return [str(e.type.value) for e in found]


def test_missing_ids_and_ends_are_supplied() -> None:
    content = {"type": "TEXT_MESSAGE_CONTENT", "delta": "x"}
    assert kinds(content, content) == [
        "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
    ]  # fmt: skip
    thought = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "x"}
    assert kinds(thought) == [
        "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END", "REASONING_END",
    ]  # fmt: skip
    start = {"type": "TOOL_CALL_START", "tool_call_name": "x", "tool_call_id": "c"}
    result = {"type": "TOOL_CALL_RESULT", "tool_call_id": "c", "content": {"a": 1}}
    assert kinds(start, result) == [
        "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
    ]  # fmt: skip


def test_text_around_thoughts_is_two_messages() -> None:
    text = {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "delta": "x"}
    thought = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "thinking_message_id": "t", "delta": "x"}
    found = kinds(text, thought, text)
    assert found.count("TEXT_MESSAGE_START") == found.count("TEXT_MESSAGE_END") == 2


def test_usage_is_summed_for_each_model() -> None:
    reader = Reader(lambda: "minted", str)
    for model, tokens in (("a", 10), ("b", 1), ("a", 5)):
        reader.take({"type": "MODEL_CALL_FINISHED", "model_name": model})
        reader.take({"type": "USAGE_UPDATE", "usage": {"input_tokens": tokens}})
        reader.take({"type": "USAGE_UPDATE", "usage": {"input_tokens": 0}})
    found = {entry["model"]: entry["input_tokens"] for entry in reader.usage_entries()}
    assert found == {"a": 15, "b": 1}


def test_what_a_subagent_said_is_not_sent_to_nexau_as_the_agents_own() -> None:
    body = {"threadId": "t", "runId": "r", "messages": []}
    told = [
        {"id": "u1", "role": "user", "content": "one"},
        {"id": "s1", "role": "assistant", "content": "aloud", "subagentRunId": "sub"},
        {"id": "a1", "role": "assistant", "content": "done"},
        {"id": "u2", "role": "user", "content": "two"},
    ]
    given = parse_input(body).input
    run = Run("agent", "t", "r", given, Principal(), raw_messages=told, mint=lambda: "new")
    sent: Any = Request.of(run, None, "t").body["messages"]
    assert [part["text"] for message in sent for part in message["content"]] == [
        "one",
        "done",
        "two",
    ]


async def test_an_id_that_nexau_uses_again_is_another_call() -> None:
    def turn(content: str) -> tuple[str, ...]:
        call = '"tool_call_id":"pay:0"'
        return (
            FINISHED[0],
            f'{{"type":"TOOL_CALL_START",{call},"tool_call_name":"pay"}}',
            f'{{"type":"TOOL_CALL_RESULT",{call},"content":"{content}"}}',
            FINISHED[1],
        )

    async with answering(turn("paid ann"), turn("paid bob")) as bench:
        for text in ("one", "two"):
            assert outcome(await bench.say(text)) == "success"
        stored = await bench.store.load(bench.KEY, messages=True)
    results = [one.message for one in stored.messages if one.message["role"] == "tool"]
    assert [(one["toolCallId"], one["content"]) for one in results] == [
        ("pay:0", "paid ann"),
        ("pay:1", "paid bob"),
    ]
