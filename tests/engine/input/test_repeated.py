"""The same input again, whatever came since: it is shown again, and carried out once."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from agui_bridge.adapters import Handoff
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.stores.memory import MemoryStore
from tests.engine.input.shop import Shop, texts_of, texts_told
from tests.support.agents import Bench, Scripted, call_events, eventually, outcome, users
from tests.support.clock import FakeClock

SAME: Final[dict[str, Any]] = {"messages": users("log x"), "runId": "same"}


async def test_a_request_that_is_sent_again_is_carried_out_once() -> None:
    shop = Shop()
    first = await shop.say(**SAME)
    again = await shop.say(**SAME)
    assert outcome(first) == outcome(again) == "success"
    await shop.pay("Ann", await shop.shown())
    late = await shop.say(**SAME)
    assert outcome(late) == "success"
    assert texts_told(late) == ["log x", "did log x", "pay Ann", "paid Ann"]
    assert shop.done == ["log x", "pay Ann"]
    # Under another run's id it is a wish for another answer, here over calls.
    await shop.say(messages=users("log x"))
    assert shop.done == ["log x", "pay Ann"]


async def test_while_it_runs_a_repeat_waits_for_it_in_any_process() -> None:
    gate = asyncio.Event()

    async def slow(run: Any) -> Any:
        await gate.wait()
        yield "done"

    agent = Scripted(slow)
    bench = Bench(agent)
    other = Bench(Scripted(["never"]), store=bench.store)
    reader = bench.begin("x", runId="same")
    await eventually(lambda: bench.engine.running)
    repeats = [b.begin("x", runId="same") for b in (bench, other)]
    gate.set()
    for each in (reader, *repeats):
        assert outcome(await each.rest()) == "success"
    assert len(agent.runs) == 1
    assert [c for _, c in await bench.texts()] == ["x", "done"]


@pytest.mark.parametrize("error", [UpstreamError("gone"), ValueError("x")])
async def test_a_repeat_of_what_failed_has_its_code(error: Exception) -> None:
    agent = Scripted([error], ["well"])
    bench = Bench(agent)
    code = outcome(await bench.say("x", runId="same"))
    assert outcome(await bench.say("x", runId="same")) == code
    assert len(agent.runs) == 1
    # Tried again, it is a new run.
    assert outcome(await bench.say("x")) == "success"
    assert agent.runs[-1].text == "x"


async def test_what_reached_nobody_is_carried_out_when_it_comes_again() -> None:
    agent = Scripted([NotDelivered("refused")], ["well"])
    bench = Bench(agent)
    assert outcome(await bench.say("x", runId="same")) == "UPSTREAM_ERROR"
    assert outcome(await bench.say("x", runId="same")) == "success"
    assert [m.content for m in agent.runs[-1].new_messages] == ["x"]


async def test_a_repeat_of_what_was_lost_is_unknown() -> None:
    clock, gate = FakeClock(), asyncio.Event()

    async def slow(run: Any) -> Any:
        await gate.wait()
        yield "done"

    bench = Bench(Scripted(slow), store=MemoryStore(clock.time))
    reader = bench.begin("x", runId="same")
    await eventually(lambda: bench.engine.running)
    clock.advance(1_000)
    agent = Scripted(["well"])
    other = Bench(agent, store=bench.store)
    assert outcome(await other.say("x", runId="same")) == "RUN_INDETERMINATE"
    gate.set()
    await reader.rest()
    assert outcome(await other.say("x", runId="same")) == "RUN_INDETERMINATE"
    assert agent.runs == []


async def test_a_run_id_that_is_used_again_with_a_new_message_is_a_new_run() -> None:
    shop = Shop()
    for text in ("a", "b", "c"):
        await shop.say(text, runId="same")
    assert shop.heard == ["a", "b", "c"]


async def test_an_applications_result_that_is_sent_again_begins_nothing() -> None:
    agent = Scripted([*call_events("c1", "pick"), Handoff(["c1"], 1)], ["thanks"])
    bench = Bench(agent)
    await bench.say("go")
    told = [{"id": "r", "role": "tool", "toolCallId": "c1", "content": "blue"}]
    for _ in range(2):
        assert outcome(await bench.say(messages=told, runId="same")) == "success"
    assert len(agent.runs) == 2


@pytest.mark.parametrize("shape", ["empty list", "whole list", "without the last user message"])
async def test_an_input_that_brings_nothing_starts_nothing(shape: str) -> None:
    shop = Shop()
    await shop.say("log x")
    whole = await shop.shown()
    sent = {"empty list": [], "whole list": whole, "without the last user message": whole[1:]}
    events = await shop.say(messages=sent[shape])
    assert (outcome(events), shop.done) == ("success", ["log x"])
    assert texts_of(await shop.shown()) == ["log x", "did log x"]


async def test_an_agent_that_acts_on_state_runs_without_a_message_and_hears_none() -> None:
    shop = Shop(acts_on_state=True)
    await shop.say("log x")
    await shop.say(messages=await shop.shown(), state={"n": 1})
    assert shop.heard == ["log x", ""]
    assert shop.scripted.runs[-1].state == {"n": 1}


CLICK: Final = [
    {
        "id": "a1",
        "role": "assistant",
        "toolCalls": [
            {
                "id": "click-1",
                "type": "function",
                "function": {"name": "log_a2ui_event", "arguments": '{"name":"confirm"}'},
            }
        ],
    },
    {"id": "t1", "role": "tool", "toolCallId": "click-1", "content": "Pressed confirm."},
]


async def test_a_click_that_a_page_tells_reaches_the_agent_once_as_what_the_person_did() -> None:
    shop = Shop()
    await shop.say("log x")
    sent = [*await shop.shown(), *CLICK]
    await shop.say(messages=sent)
    assert shop.heard == ["log x", "Pressed confirm."]
    (action,) = shop.scripted.runs[-1].actions
    assert (action.name, action.call_id, action.arguments) == (
        "log_a2ui_event",
        "click-1",
        {"name": "confirm"},
    )
    await shop.say(messages=sent)
    await shop.say(messages=[*await shop.shown(), *CLICK])
    assert shop.heard == ["log x", "Pressed confirm."]


async def test_a_call_of_another_name_is_no_click() -> None:
    shop = Shop(page_actions=())
    await shop.say("log x")
    await shop.say(messages=[*await shop.shown(), *CLICK])
    assert shop.heard == ["log x"]
