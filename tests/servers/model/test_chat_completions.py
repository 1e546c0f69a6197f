"""A model that speaks Chat Completions keeps to its scripts."""

from __future__ import annotations

import httpx
import pytest

from tests.servers.model.chat_completions import ChatReply, deltas_of
from tests.servers.model.script import Reply, Requested, ToolUse
from tests.servers.model.server import ScriptedModel


async def ask(model: ScriptedModel, **members: object) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **members}
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"{model.base_url}/chat/completions", json=body)


async def test_an_answer_is_whole_when_no_stream_is_asked_for() -> None:
    call = ToolUse("look", {"at": "it"}, id=None)
    async with ScriptedModel(Reply(text=["a", "b"], calls=[call])) as model:
        choice = (await ask(model)).json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "ab"
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "look",
        "arguments": '{"at": "it"}',
    }


async def test_fragments_of_parallel_calls_are_interleaved() -> None:
    calls = [ToolUse("a", "123", id="x"), ToolUse("b", "45", id="y")]
    added = [
        delta["tool_calls"][0] for delta in list(deltas_of(ChatReply(calls=calls, fragment=2)))[1:]
    ]
    assert [(part["index"], part["function"]["arguments"]) for part in added] == [
        *((0, ""), (1, "")),
        *((0, "12"), (1, "45"), (0, "3")),
    ]


async def test_a_script_may_depend_on_the_request_and_can_be_added_later() -> None:
    def echo(request: Requested) -> Reply:
        return Reply(text=request.messages[-1]["content"])

    async with ScriptedModel() as model:
        model.then(echo)
        assert (await ask(model)).json()["choices"][0]["message"]["content"] == "hi"
        assert model.requests[0].body["model"] == "m"


async def test_a_call_too_many_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="1 times more often than scripted"):
        async with ScriptedModel() as model:
            assert (await ask(model)).status_code == 500
