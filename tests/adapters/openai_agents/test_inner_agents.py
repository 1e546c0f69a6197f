"""Agents within tools, agents that take over, and agents outside of the bridge."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, Runner, function_tool

from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from tests.adapters.mails import YES
from tests.adapters.openai_agents.mailer import Mailer
from tests.adapters.openai_agents.talking import serving, talking

pytestmark = pytest.mark.anyio


# --- agents within tools, and agents that take over ---


async def test_an_agent_within_a_tool_is_announced_and_its_calls_are_told() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("lookinside bob")
        started = [e for e in asked.events if e["type"] == "SUBAGENT_STARTED"]
        (outer,) = [
            e["toolCallId"]
            for e in asked.events
            if e["type"] == "TOOL_CALL_START" and e["toolCallName"] == "delegate"
        ]
        assert [(e["name"], e["parentToolCallId"]) for e in started] == [("inner", outer)]
        own = started[0]["subagentRunId"]
        told = [e for e in asked.events if e.get("subagentRunId") == own]
        assert [e["type"] for e in told if "TOOL_CALL" in e["type"]] == [
            *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"),
            *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
        ]
        (ask,) = asked.asks
        assert ask["subagentRunId"] == own
        resumed = await one.answer(asked, YES)
    again = [e for e in resumed.events if e.get("subagentRunId") == own]
    assert [e["type"] for e in again] == [
        *("SUBAGENT_STARTED", "TOOL_CALL_RESULT", "SUBAGENT_FINISHED")
    ]
    assert mailer.done == ["looked up bob", {"to": "bob", "body": "original"}]


async def test_two_agents_within_tools_ask_at_once_and_each_gets_its_answer() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("twoinside bob")
        assert len({ask["subagentRunId"] for ask in asked.asks}) == 2
        assert (await one.answer(asked, YES, {"approved": False})).ending == "success"
    assert len(mailer.done) == 1


async def test_what_an_agent_within_a_tool_did_is_no_history_of_the_one_around_it() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("lookinside bob")
        await one.answer(asked, {"approved": False, "reason": "not him"})
        results = [m for m in await one.messages() if m["role"] == "tool"]
        await one.say("hello")
    told = "The user declined this tool call; it was not executed. Reason: not him"
    assert told in [message["content"] for message in results]
    assert mailer.results("send_email") == []
    assert len(mailer.results("delegate")) == 1


async def test_an_agent_that_takes_over_is_a_step_and_asks_like_the_first() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("handoff bob")
        (step,) = [e["stepName"] for e in asked.events if e["type"] == "STEP_STARTED"]
        assert step == "sales"
        assert "subagentRunId" not in asked.asks[0]
        resumed = await one.answer(asked, YES)
        assert resumed.ending == "success"
    assert [e["stepName"] for e in resumed.events if e["type"] == "STEP_STARTED"] == ["sales"]
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_a_stop_waits_for_the_tool_of_an_agent_within_a_tool_and_its_result_is_kept() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("waitinside bob")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        assert mailer.done == ["waited"]
        contents = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert "it is done" in contents


async def test_an_agent_that_a_tool_runs_by_itself_passes_the_policy_too() -> None:
    mailer = Mailer()

    @function_tool(name_override="set_colour")
    async def by_itself(colour: str) -> str:
        return str((await Runner.run(mailer.inner, f"look {colour}")).final_output)

    mailer.agent.tools.append(by_itself)
    bridge = serving(mailer)
    bridge.policy(lambda call: "deny" if call.name == "look_up" else "allow")
    async with talk(bridge, "mailer") as one:
        assert (await one.say("colour bob")).ending == "success"
    assert mailer.done == []


# --- outside of the bridge ---


async def test_the_same_agent_runs_outside_of_the_bridge_as_its_author_made_it() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("look bob")
    result = await Runner.run(mailer.agent, "look ann")
    assert (result.final_output, mailer.done[-1]) == ("Done with 1 calls.", "looked up ann")
    tools = await mailer.agent.get_all_tools(RunContextWrapper(None))
    assert tools == mailer.agent.tools


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"agent": 3}, "agent should be an agents.Agent"),
        ({"agent": Agent("a"), "context": 3}, "context should be a function"),
        ({"agent": Agent("a"), "run_config": 3}, "run_config should be a RunConfig"),
        ({"agent": "no_such_module:agent"}, "There is no module"),
    ],
)
def test_what_is_no_agent_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        OpenAIAgentsAdapter(**options)
