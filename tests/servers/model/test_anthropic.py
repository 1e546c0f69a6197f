"""A model that speaks Messages streams what Anthropic's own types take, and keeps to its rules."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import httpx
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel

EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
USER = {"role": "user", "content": "hi"}


async def ask(model: ScriptedModel, *messages: Any, **members: object) -> httpx.Response:
    body = {"model": "m", "max_tokens": 9, "messages": messages or [USER], **members}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"{model.base_url}/messages", json=body)


async def test_each_block_is_announced_told_in_deltas_and_closed() -> None:
    calls = [ToolUse("look", {"at": 1}, "c1"), ToolUse("look", {"at": 2}, "c2")]
    reply = Reply(["I will ", "look."], calls, fragment=4, thoughts=["Hm. ", "Well."])
    async with ScriptedModel(reply) as model:
        text = (await ask(model, stream=True)).text
    frames = [frame.splitlines() for frame in text.split("\n\n") if frame]
    events = [json.loads(data.removeprefix("data: ")) for _, data in frames]
    assert [kind for kind, _ in frames] == [f"event: {event['type']}" for event in events]
    for event in events:
        # A ping is no message's: the types have none.
        if event["type"] != "ping":
            EVENT.validate_python(event)
    told = [event.get("delta", {}).get("type", event["type"]) for event in events]
    start, stop = "content_block_start", "content_block_stop"
    assert [kind for kind, _ in groupby(told)] == [
        *("message_start", start, "ping", "thinking_delta", "signature_delta", stop),
        *(start, "text_delta", stop),
        *(start, "input_json_delta", stop, start, "input_json_delta", stop),
        *("message_delta", "message_stop"),
    ]
    deltas = [event.get("delta", {}).get("partial_json", "") for event in events]
    assert "".join(deltas) == '{"at": 1}{"at": 2}'


async def test_an_answer_is_whole_when_no_stream_is_asked_for() -> None:
    reply = Reply(["a", "b"], [ToolUse("look", {"at": "it"}, id=None)], thoughts=["Hm."])
    async with ScriptedModel(reply) as model:
        answer = Message.model_validate((await ask(model)).json())
    thought, text, call = answer.content
    assert (thought.type, text.type, call.type) == ("thinking", "text", "tool_use")
    assert answer.stop_reason == "tool_use"


THINKING = {"type": "enabled", "budget_tokens": 1024}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "it"}
TEXT = {"type": "text", "text": "And?"}
UNSIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "mine"}


def turn(*blocks: Any) -> list[Any]:
    return [USER, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": blocks}]


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        (turn(TEXT), "without `tool_result`"),
        (turn(TEXT, RESULT), "without `tool_result`"),
        (turn(RESULT)[:2], "without `tool_result`"),
        (turn(RESULT, RESULT), "a single result"),
        ([{"role": "user", "content": [RESULT]}], "unexpected `tool_use_id`"),
        ([*turn(RESULT), *turn(RESULT)[1:]], "must be unique"),
        (turn(RESULT), "Expected `thinking`"),
        ([USER, {"role": "assistant", "content": [UNSIGNED, CALL]}], "without `tool_result`"),
        ([USER, {"role": "assistant", "content": [UNSIGNED]}, USER], "Invalid `signature`"),
        ([{"role": "user", "content": " "}], "non-whitespace"),
    ],
)
async def test_a_request_that_breaks_a_rule_is_refused(messages: Any, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        async with ScriptedModel(Reply("Hello.")) as model:
            refused = await ask(model, *messages, thinking=THINKING)
            assert (refused.status_code, refused.json()["type"]) == (400, "error")


async def test_results_and_text_behind_them_are_taken() -> None:
    async with ScriptedModel(Reply("Hello.")) as model:
        assert (await ask(model, *turn(RESULT, TEXT))).status_code == 200
