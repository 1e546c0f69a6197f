"""A run whose task is cancelled keeps what it said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.protocol.threads.records import ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.hooked import Held, HookedStore, ends
from tests.engine.stopping.phases import ADAPTERS, mid_text
from tests.support.agents import Bench, Scripted, eventually, outcome, settle


async def _cancel_own_task(bench: Bench) -> None:
    """Cancel a run's own task, as a loop does that ends without the bridge being closed."""
    tasks = set(bench.engine._tasks)
    assert tasks
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_cancelled_run_keeps_what_it_said(adapter: str) -> None:
    bench = Bench(ADAPTERS[adapter](mid_text))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await _cancel_own_task(bench)
    assert await bench.texts() == [("user", "go"), ("assistant", "half a sen")]
    assert (await bench.load()).status is ThreadStatus.IDLE
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_run_that_is_cancelled_while_its_end_is_written_keeps_it() -> None:
    store = HookedStore()
    held = Held(store, ends)
    bench = Bench(Scripted(["all of it"]), store=store)
    reader = bench.begin("go")
    await eventually(held.waiting.is_set)
    for task in set(bench.engine._tasks):
        task.cancel()
    await settle()
    held.go.set()
    await eventually(lambda: bool(store.commits) and ends(store.commits[-1][1]))
    assert await bench.texts() == [("user", "go"), ("assistant", "all of it")]
    while await reader.step():
        pass


async def test_an_agent_that_cancels_itself_loses_nothing() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        raise asyncio.CancelledError

    bench = Bench(Scripted(script))
    assert outcome(await bench.say("go")) == "AGENT_ERROR"
    assert await bench.texts() == [("user", "go"), ("assistant", "so far")]


def test_a_loop_that_ends_amid_a_run_stores_what_it_said() -> None:
    store = MemoryStore()

    async def begin() -> None:
        bench = Bench(Scripted(mid_text), store=store)
        await bench.begin("go").until("TEXT_MESSAGE_CONTENT")

    asyncio.run(begin())
    loaded = asyncio.run(store.load(Bench.KEY, messages=True))
    assert [m.message["content"] for m in loaded.messages] == ["go", "half a sen"]
    assert loaded.status is ThreadStatus.IDLE
