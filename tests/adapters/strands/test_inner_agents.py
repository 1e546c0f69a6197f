"""Agents that are tools of an agent: they ask as it does, wherever they stand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from strands.hooks import BeforeModelCallEvent, BeforeToolCallEvent

from agui_bridge import Verdict
from agui_bridge.testing import talk
from tests.adapters.mails import YES
from tests.adapters.strands.mailer import Mailer
from tests.adapters.strands.talking import serving, talking

pytestmark = pytest.mark.anyio


async def test_an_agent_in_a_tool_is_announced_and_its_calls_are_told() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("lookinside bob")
        started = [e for e in asked.events if e["type"] == "SUBAGENT_STARTED"]
        (outer,) = [
            e["toolCallId"]
            for e in asked.events
            if e["type"] == "TOOL_CALL_START" and e["toolCallName"] == "helper"
        ]
        assert [(e["name"], e["parentToolCallId"]) for e in started] == [("helper", outer)]
        own = started[0]["subagentRunId"]
        told = [e for e in asked.events if e.get("subagentRunId") == own]
        assert [e["type"] for e in told if "TOOL_CALL" in e["type"]] == [
            *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"),
            *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
        ]
        assert asked.asks[0]["subagentRunId"] == own
        resumed = await one.answer(asked, YES)
    again = [e for e in resumed.events if e.get("subagentRunId") == own]
    assert [e["type"] for e in again] == [
        *("SUBAGENT_STARTED", "TOOL_CALL_RESULT", "SUBAGENT_FINISHED")
    ]
    assert mailer.done == ["looked up bob", {"to": "bob", "body": "original"}]


@pytest.mark.parametrize("preserve", [False, True])
async def test_its_pause_outlives_the_process_and_the_next_message_is_heard(
    preserve: bool, tmp_path: Path
) -> None:
    done: list[Any] = []

    def made() -> Mailer:
        mailer = Mailer(done.append)
        held = mailer.helper.as_tool(preserve_context=preserve)
        mailer.agent.tool_registry.registry["helper"] = held
        return mailer

    store = f"sqlite:///{tmp_path}/agents.db"
    async with talk(serving(made()), "mailer", store=store) as one:
        asked = await one.say("inside bob")
    again = made()
    async with talk(serving(again), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
        await one.answer(asked, YES)
        assert done == [{"to": "bob", "body": "original"}]
        assert (await one.say("hello")).text == "Hello."
        assert len(again.results("helper")) == 1
        await one.answer(await one.say("inside ann"), YES)
    heard = [str(request) for request in again.requests if "send ann" in str(request[-1:])]
    assert any("send bob" in request for request in heard) is preserve
    assert [mail["to"] for mail in done] == ["bob", "ann"]


async def test_its_edited_call_is_what_runs_and_what_its_model_reads() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("inside bob")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
    assert mailer.done == [{"to": "ann", "body": "edited"}]
    assert all("original" not in str(request) for request in mailer.requests[2:])


async def test_its_declined_call_is_told_to_its_model_and_to_nobody_above() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("lookinside bob")
        resumed = await one.answer(asked, {"approved": False, "reason": "not him"})
        told = [e["content"] for e in resumed.events if e["type"] == "TOOL_CALL_RESULT"]
        await one.say("hello")
    declined = "The user declined this tool call; it was not executed. Reason: not him"
    assert told[0] == declined
    assert declined in str(mailer.requests[-3])
    assert (mailer.results("send_email"), len(mailer.results("helper"))) == ([], 1)
    assert mailer.done == ["looked up bob"]


@pytest.mark.parametrize("answer", [0, None])
async def test_what_its_tool_asks_is_answered_or_not(answer: int | None) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("askinside friday")
        assert asked.asks[0]["reason"] == "strands:book"
        ended = await (one.cancel(asked) if answer is None else one.answer(asked, answer))
        assert ended.ending == "success"
    assert mailer.done == ([] if answer is None else [answer])


async def test_what_a_hook_of_it_asks_is_shown_at_its_call() -> None:
    mailer = Mailer(gated=())

    def confirm(event: BeforeToolCallEvent) -> None:
        event.interrupt("sure", reason="Sure?")

    mailer.helper.hooks.add_callback(BeforeToolCallEvent, confirm)
    async with talking(mailer) as one:
        asked = await one.say("inside bob")
        (ask,) = asked.asks
        assert ask["message"] == "Sure?"
        assert ask["subagentRunId"]
        assert mailer.done == []
        assert (await one.answer(asked, "y")).ending == "success"
    assert mailer.done == [{"to": "bob", "body": "original"}]


async def test_a_policy_judges_its_calls() -> None:
    mailer, seen = Mailer(gated=()), list[str]()

    def policy(call: Any) -> Any:
        seen.append(call.name)
        return Verdict("deny", "not him") if call.name == "send_email" else "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("inside bob")).ending == "success"
    assert (seen, mailer.done) == (["helper", "send_email"], [])
    assert "The policy denied this tool call" in str(mailer.requests[2])


async def test_a_stop_waits_for_its_tool_and_keeps_the_result() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("waitinside bob")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        told = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == ["waited"]
    assert "it is done" in told


async def test_an_agent_that_answers_in_anothers_place_is_heard_once() -> None:
    mailer = Mailer()
    held = mailer.helper.as_tool(delegate=True)
    mailer.agent.tool_registry.registry["helper"] = held
    async with talking(mailer) as one:
        asked = await one.say("inside bob")
        assert mailer.done == []
        assert (await one.answer(asked, YES)).ending == "success"
        said = [m["content"] for m in await one.messages() if m["role"] == "assistant"]
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == [{"to": "bob", "body": "original"}]
    assert [text for text in said if text].count("Done with 1 calls.") == 1


async def test_two_levels_down_a_call_is_asked_about_edited_and_executed_once() -> None:
    def made(done: list[Any]) -> Mailer:
        mailer = Mailer(done.append)
        middle = mailer.make("middle", tools=[*mailer.tools, mailer.helper.as_tool()])
        mailer.agent.tool_registry.registry["helper"] = middle.as_tool(name="helper")
        return mailer

    done: list[Any] = []
    async with talking(made(done)) as one:
        asked = await one.say("insideinside bob")
        started = [e for e in asked.events if e["type"] == "SUBAGENT_STARTED"]
        assert [e["name"] for e in started] == ["middle", "helper"]
        assert started[1]["parentSubagentRunId"] == started[0]["subagentRunId"]
        answered = await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "x"}})
        assert answered.ending == "success"
    assert done == [{"to": "ann", "body": "x"}]


async def test_a_policy_that_fails_below_ends_the_run_above() -> None:
    mailer = Mailer(gated=())

    def policy(call: Any) -> Any:
        if call.name == "send_email":
            raise RuntimeError("no network")
        return "allow"

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("inside bob")).ending not in ("success", "interrupt")
    assert mailer.done == []


async def test_an_agent_that_becomes_a_tool_during_the_run_is_kept_from_acting() -> None:
    mailer = Mailer(gated=())
    helper = mailer.agent.tool_registry.registry.pop("helper")

    def add(event: BeforeModelCallEvent) -> None:
        event.agent.tool_registry.registry["helper"] = helper

    mailer.agent.hooks.add_callback(BeforeModelCallEvent, add)
    bridge = serving(mailer)
    bridge.policy(lambda call: "allow" if call.name == "helper" else "deny")
    async with talk(bridge, "mailer") as one:
        assert (await one.say("inside bob")).ending == "success"
    assert mailer.done == []
    (told,) = mailer.results("helper")
    assert told.startswith("The policy denied this tool call; it was not executed.")
