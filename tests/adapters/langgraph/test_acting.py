"""What keeps tools from running, and who runs them: the application, stops, policies."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agui_bridge import Bridge, ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.langgraph.mailer import MODES, Mailer
from tests.adapters.langgraph.model import ScriptedModel, mails
from tests.adapters.langgraph.serving import conversing, serving
from tests.adapters.mails import COLOUR_TOOL, YES

pytestmark = pytest.mark.anyio


# --- frontend tools ---


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", ["the answer", "both"])
async def test_an_approval_beside_a_frontend_tool_takes_both_answers(mode: str, first: str) -> None:
    mailer = Mailer(mode=mode)
    async with conversing(serving(mailer)) as one:
        await one.say("colourandsend red", tools=[COLOUR_TOOL])
        (ask,) = one.asks
        starts = [e for e in one.events if e["type"] == "TOOL_CALL_START"]
        (call,) = [e["toolCallId"] for e in starts if e["toolCallName"] == "set_colour"]
        messages = [{"id": "f1", "role": "tool", "toolCallId": call, "content": "it is red"}]
        resume = [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]
        if first == "both":
            await one._send(messages=messages, resume=resume, tools=[COLOUR_TOOL])
        else:
            await one._send(resume=resume)
            await one._send(messages=messages)
        assert one.events[-1]["outcome"]["type"] == "success"
    assert mailer.results("set_colour") == ["it is red"]
    assert mailer.done == [{"to": "red", "body": "original"}]


async def test_the_agents_own_tools_go_before_those_of_the_application() -> None:
    mailer = Mailer()
    theirs = [{**COLOUR_TOOL, "name": "look_up"}, COLOUR_TOOL]
    async with conversing(serving(mailer)) as one:
        await one.say("look bob", tools=theirs)
    assert mailer.done == ["looked up bob"]
    names = [getattr(t, "name", None) or t["function"]["name"] for t in mailer.model.offered]
    assert names.count("look_up") == 1
    assert "set_colour" in names


# --- stops and policies ---


async def test_a_forced_stop_leaves_behind_what_runs_in_a_thread() -> None:
    begun, finish = threading.Event(), threading.Event()

    @tool
    def look_up_slowly(name: str) -> str:
        """Look somebody up, in no hurry."""
        begun.set()
        finish.wait(30)
        return name

    model = ScriptedModel(steps=mails)
    graph = create_agent(model, [look_up_slowly], checkpointer=InMemorySaver())
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    try:
        async with talk(bridge, "mailer") as one:
            stream = one.begin("slowly bob")
            assert await asyncio.to_thread(begun.wait, 10)
            await one.stop(force=True)
            assert (await stream.rest()).ending == "cancelled"
            finish.set()
            assert (await one.say("hello")).ending == "success"
            (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    finally:
        finish.set()
    assert "whether this tool call was executed is unknown" in kept


async def test_a_tool_that_asks_is_approved_once_however_often_it_begins_again() -> None:
    mailer, seen = Mailer(), list[bool]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append(call.approved)
        return Verdict("allow") if call.approved else Verdict("ask", "Ask them?")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        approval = await one.say("ask colour")
        question = await one.answer(approval, YES)
        assert question.asks[0]["message"] == "Which colour?"
        assert (await one.answer(question, {"answer": "blue"})).ending == "success"
    assert mailer.done == [{"answer": "blue"}]
    assert seen == [False, True, True]


async def test_a_policy_that_fails_leaves_the_question_open() -> None:
    mailer, verdicts = Mailer(), [True, False, True]

    def policy(call: ProposedCall) -> Verdict:
        if not verdicts.pop(0):
            raise RuntimeError
        return Verdict("allow")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("ask colour")
        assert (await one.answer(asked, {"answer": "red"})).ending == "UPSTREAM_ERROR"
        assert (await one.answer(asked, {"answer": "blue"})).ending == "success"
    assert mailer.done == [{"answer": "blue"}]
