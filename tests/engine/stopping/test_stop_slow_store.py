"""A stop while the store is slow or fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import StoreUnavailable
from tests.engine.run.hooked import Held, HookedStore, claims, ends, settles
from tests.engine.stopping.phases import between_steps, mid_text
from tests.support.agents import Answering, Bench, Scripted, outcome, settle
from tests.support.waiting import eventually


async def test_a_stop_while_the_store_is_slow_to_take_the_claim_is_not_lost() -> None:
    store = HookedStore()
    held = Held(store, claims)
    bench = Bench(Scripted(mid_text, ["more"]), store=store)
    first = bench.begin("go")
    await eventually(held.waiting.is_set)
    # The thread does not exist yet: nothing runs that could be stopped.
    assert (await bench.engine.stop(bench.KEY)).error == "There is no such thread."
    held.go.set()
    await first.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY)).status == "success"
    assert outcome(await first.rest()) == "cancelled"


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_waits_for_a_store_that_is_slow_and_keeps_everything(force: bool) -> None:
    store = HookedStore()
    held = Held(store, ends)
    bench = Bench(Scripted(between_steps), store=store)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_RESULT")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, force=force))
    await eventually(held.waiting.is_set)
    await settle()
    assert not stopping.done()
    assert "RUN_FINISHED" not in reader.kinds
    held.go.set()
    stopped = await stopping
    assert (stopped.status, stopped.message_count) == ("success", len(stopped.messages))
    assert [m.get("content") for m in stopped.messages if m["role"] != "assistant"] == [
        "go",
        "found",
    ]
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_result_is_told_although_the_stop_came_while_it_was_being_stored() -> None:
    store = HookedStore()
    agent = Answering()
    bench = Bench(agent, store=store)
    asked = await bench.ask()
    held = Held(store, settles)
    reader = bench.begin(resume=bench.entries(asked))
    await eventually(held.waiting.is_set)
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, force=True))
    await settle()
    held.go.set()
    assert (await stopping).status == "success"
    events = await reader.rest()
    told = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert (outcome(events), told, len(agent.executed)) == ("cancelled", ["done"], 1)


async def test_a_stop_outlives_a_store_that_fails_for_a_while() -> None:
    store = HookedStore()
    store.fail(ends, times=3, written=False)
    bench = Bench(Scripted(mid_text), store=store)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopped = await bench.engine.stop(bench.KEY, force=True)
    assert (stopped.status, stopped.partial_response) == ("success", "half a sen")
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_stop_that_the_store_does_not_take_says_so_and_the_run_goes_on() -> None:
    store = HookedStore()
    may_end = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "all "
        await may_end.wait()
        yield "said"

    bench = Bench(Scripted(script), store=store)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.engine.stop(bench.KEY)
    store.down = False
    may_end.set()
    assert outcome(await reader.rest()) == "success"
