"""Approved calls after an agent has asked for another confirmation, and the policy meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge import FunctionRun, KeywordAdapter, ProposedCall, Verdict
from tests.agents.function.effects import Effects
from tests.support.agents import Bench, outcome, settle

NOT_EXECUTED = (
    "The agent asked for another confirmation before it carried this tool call out; it was not "
    "executed."
)
NO_RESULT = "The run paused for a confirmation; no result of this tool call is known."


async def test_an_approved_call_that_a_request_precedes_is_not_carried_out_either(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"what": "rows"})
        yield "Are you sure? "
        if approval.approved:
            await run.tool(approval, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert outcome(events) == "interrupt"
    assert events[-1]["outcome"]["interrupts"][0]["reason"] == "confirmation"
    assert effects.done == []
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert told["toolCallId"] == interrupts[0]["toolCallId"]
    assert told["content"] == NOT_EXECUTED


async def pay_after_asking(run: FunctionRun, effects: Effects) -> AsyncIterator[str]:
    approval = await run.approve("pay", {"what": "rent"})
    yield "Are you sure?"
    await run.tool(approval, effects.act)


async def pay_never(run: FunctionRun, effects: Effects) -> AsyncIterator[str]:
    await run.approve("pay", {"what": "rent"})
    yield "Are you sure?"


@pytest.mark.parametrize("wrappers", [1, 2])
@pytest.mark.parametrize(
    ("pay", "result"),
    # Who never has it carried out may have done so in code of their own.
    [(pay_after_asking, NOT_EXECUTED), (pay_never, NO_RESULT)],
    ids=["pay_after_asking", "pay_never"],
)
async def test_an_approved_call_is_told_as_not_executed_where_it_certainly_was_not(
    pay: Callable[[FunctionRun, Effects], AsyncIterator[str]],
    result: str,
    wrappers: int,
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        async for token in pay(run, effects):
            yield token

    adapter = KeywordAdapter(agent)
    if wrappers == 2:
        adapter = KeywordAdapter(KeywordAdapter(agent, phrases=["nothing like it"]))
    async with Bench(adapter).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert (outcome(events), effects.done) == ("interrupt", [])
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert (told["toolCallId"], told["content"]) == (interrupts[0]["toolCallId"], result)


async def test_a_call_that_the_policy_had_approved_and_that_was_not_begun_is_told_alike(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        paying = asyncio.create_task(run.call("pay", {"what": "rent"}, effects.act))
        looking = await run.approve("look", {})
        yield "Are you sure?"
        await run.tool(looking, effects.act)
        await paying

    async def policy(call: ProposedCall) -> Verdict:
        if not call.approved:
            return Verdict("ask")
        await effects.may_end.wait()
        return Verdict("allow")

    bench = Bench(KeywordAdapter(agent))
    bench.agent = replace(bench.agent, policy=policy)
    async with bench.open():
        interrupts = await bench.ask()
        reader = bench.begin(resume=bench.entries(interrupts))
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        effects.may_end.set()
        events = await reader.rest()

    assert (outcome(events), effects.done) == ("interrupt", [])
    told = {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}
    assert set(told) == {ask["toolCallId"] for ask in interrupts}
    # One was held back, one was still being judged: each says why it did not begin.
    assert len(told) == 2
    assert all("not executed" in content for content in told.values())


async def test_an_approved_call_that_was_begun_and_broke_off_is_not_told_as_not_executed(
    effects: Effects,
) -> None:
    async def act(what: str) -> None:
        await effects.act_slowly()
        raise asyncio.CancelledError

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("pay", {"what": "rent"})
        paying = asyncio.create_task(run.tool(approval, act))
        await effects.begun.wait()
        yield "Are you sure?"
        await run.call("look", {}, effects.act)
        await paying

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        reader = bench.begin(resume=bench.entries(interrupts))
        await reader.until("TEXT_MESSAGE_CONTENT")
        await settle()
        effects.may_end.set()
        events = await reader.rest()

    assert (outcome(events), effects.done) == ("interrupt", ["begun", "ended"])
    (told,) = (e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert "no result of this tool call is known" in told["content"]


async def test_an_approval_that_the_agent_asks_for_after_a_request_goes_first(
    effects: Effects,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Are you sure? "
        approval = await run.approve("delete", {"what": "rows"})
        if approval.approved:
            await run.tool(approval, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts))

    assert interrupts[0]["reason"] == "tool_call"
    assert (outcome(events), effects.done) == ("success", ["rows"])


@pytest.mark.parametrize("action", ["allow", "deny", "ask"])
async def test_a_policy_is_not_asked_about_a_call_that_may_not_begin(
    action: Any, effects: Effects
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Please confirm: delete 3 rows."
        await run.call("delete", {"what": "rows"}, effects.act)

    def policy(call: ProposedCall) -> Verdict:
        effects.act("judged")
        return Verdict(action)

    bench = Bench(KeywordAdapter(agent))
    bench.agent = replace(bench.agent, policy=policy)
    async with bench.open():
        reader = bench.begin("go")
        events = await reader.rest()

    (ask,) = events[-1]["outcome"]["interrupts"]
    assert (ask["reason"], effects.done) == ("confirmation", [])
    assert "TOOL_CALL_START" not in reader.kinds
