"""What people and the application give in place of a tool's result."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from google.adk.tools._request_input_tool import request_input
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from tests.adapters.adk.mailer import Mailer
from tests.adapters.adk.talking import YES, conversing, names_of, serving, talking

pytestmark = pytest.mark.anyio

PAINT = {
    "name": "paint",
    "description": "Paint the page.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}


async def test_a_model_asks_the_user_and_its_schema_is_checked() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("ask colour")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("input_required", "Which colour?")
        assert (await one.answer(asked, "blue")).ending == "INVALID_RESUME_PAYLOAD"
        ended = await one.answer(asked, {"answer": "blue"})
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ['{"answer":"blue"}']
    assert mailer.results("adk_request_input") == [{"answer": "blue"}]


async def test_the_tool_that_adk_brings_asks_the_same_way() -> None:
    mailer = Mailer()
    mailer.tools[-1] = request_input
    async with talking(mailer.make("mailer")) as one:
        asked = await one.say("askany colour")
        assert asked.asks[0]["message"] == "Which colour?"
        assert (await one.answer(asked, "blue")).ending == "success"
    assert mailer.results("adk_request_input") == [{"result": "blue"}]


@pytest.mark.parametrize("payload", [None, False, 0, "", []])
async def test_a_falsy_answer_is_one(payload: Any) -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("askany colour")
        assert (await one.answer(asked, payload)).ending == "success"
    assert mailer.results("adk_request_input") == [{"result": payload}]


async def test_a_question_that_is_cancelled_is_told_the_model_as_that() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        assert (await one.cancel(await one.say("askany colour"))).ending == "success"
    told = {"error": "The question was cancelled; nobody answered it."}
    assert mailer.results("adk_request_input") == [told]


async def test_a_long_running_tool_that_returns_nothing_waits_for_its_result() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("fetch k")
        (ask,) = asked.asks
        assert ask["reason"] == "adk:long_running"
        assert (ask["metadata"]["toolName"], ask["metadata"]["args"]) == ("fetch", {"key": "k"})
        ended = await one.answer(asked, {"value": 3})
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ['{"value":3}']
    assert mailer.done == ["fetching k"]
    assert mailer.results("fetch") == [{"value": 3}]


async def test_a_long_running_tool_that_returns_something_is_not_asked_about() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        assert (await one.say("begin k")).ending == "success"
    assert mailer.results("begin") == [{"status": "pending", "key": "k"}]


@pytest.mark.skipif(
    [int(part) for part in version("google-adk").split(".")[:2]] < [2, 13],
    reason="only on google-adk 2.13: older ones ask the model at once, which may call it again",
)
async def test_a_long_running_tool_is_approved_first_and_then_waits() -> None:
    mailer = Mailer()
    fetch = LongRunningFunctionTool(mailer.fetch)
    fetch._require_confirmation = True
    async with talking(mailer.make("mailer", tools=[fetch])) as one:
        may_it = await one.say("fetch k")
        assert (may_it.asks[0]["reason"], mailer.done) == ("tool_call", [])
        what = await one.answer(may_it, YES)
        assert (what.asks[0]["reason"], mailer.done) == ("adk:long_running", ["fetching k"])
        assert (await one.answer(what, "found")).ending == "success"
    assert mailer.results("fetch") == [{"result": "found"}]
    assert mailer.done == ["fetching k"]


# --- the application's own tools ---


async def test_the_application_carries_its_own_tools_out() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer.agent)) as one:
        await one.say("frontend red", tools=[PAINT])
        assert await one.hand_back("it is red") == "Done with 1 calls."
    assert mailer.results("paint") == [{"result": "it is red"}]


async def test_an_approval_beside_a_frontend_tool_takes_both_answers() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer.agent)) as one:
        await one.say("frontendandsend red", tools=[PAINT])
        (ask,) = one.asks
        starts = [e for e in one.events if e["type"] == "TOOL_CALL_START"]
        (call,) = [e["toolCallId"] for e in starts if e["toolCallName"] == "paint"]
        result = {"id": "f1", "role": "tool", "toolCallId": call, "content": "it is red"}
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": YES}
        await one._send(messages=[result], resume=[entry], tools=[PAINT])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert mailer.results("paint") == [{"result": "it is red"}]
    assert mailer.done == [{"to": "red", "body": "original"}]


async def test_an_agents_own_tool_goes_before_the_applications_of_the_same_name() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer.agent)) as one:
        await one.say("look bob", tools=[{**PAINT, "name": "look_up"}])
    assert mailer.done == ["looked up bob"]
