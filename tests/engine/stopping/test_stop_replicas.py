"""A stop from another replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import FunctionRun
from agui_bridge.adapters import Pause
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.stores.memory import MemoryStore
from tests.engine.stopping.phases import PHASES, Phase, mid_text
from tests.support.agents import Bench, Scripted, approval, outcome


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize(("phase", "at", "kept"), PHASES, ids=[p[0].__name__ for p in PHASES])
async def test_a_stop_from_another_replica_keeps_the_same(
    phase: Phase, at: str, kept: list[tuple[str, str]], force: bool
) -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(phase), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until(at)
        stopped = await other.engine.stop(Bench.KEY, force=force)
        assert (stopped.status, outcome(await reader.rest())) == ("success", "cancelled")
    said = [(m["role"], m.get("content") or "") for m in stopped.messages]
    assert [p for p in said if p[1]] == [("user", "go"), *(p for p in kept if p[1])]


async def test_stops_from_two_replicas_at_once_both_succeed() -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(mid_text), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        both = await asyncio.gather(*(b.engine.stop(Bench.KEY) for b in (owner, other)))
        assert [stopped.status for stopped in both] == ["success", "success"]
        assert outcome(await reader.rest()) == "cancelled"


async def test_an_interrupted_thread_is_stopped_from_another_replica() -> None:
    store = MemoryStore()
    owner = Bench(Scripted([Pause([approval()])], ["more"]), store=store)
    other = Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        asked = await owner.ask()
        assert (await other.engine.stop(Bench.KEY)).status == "success"
        late = await owner.say(resume=Bench.entries(asked))
        assert outcome(late) == "INTERRUPT_ALREADY_ANSWERED"


async def test_who_stops_a_run_of_another_replica_knows_its_iteration() -> None:
    async def counting(run: Any) -> AsyncIterator[str]:
        run.iteration = 7
        yield "half"
        await asyncio.Event().wait()

    store = MemoryStore()
    owner, other = Bench(Scripted(counting), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await other.engine.stop(Bench.KEY)
        again = await other.engine.stop(Bench.KEY)
        await reader.rest()
    assert [s.interrupted_at_iteration for s in (stopped, again)] == [7, 7]


async def test_a_stop_that_overtakes_the_first_input_of_a_thread_stops_it() -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(mid_text), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        stopping = asyncio.ensure_future(other.engine.stop(Bench.KEY))
        await asyncio.sleep(0.06)
        assert not stopping.done()
        reader = owner.begin("go")
        assert (await stopping).status == "success"
        assert outcome(await reader.rest()) == "cancelled"


async def test_unhinted_and_unpolled_no_act_begins_after_a_stop_of_another_replica() -> None:
    begun: list[int] = []
    stored = asyncio.Event()

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        async def act(number: int) -> int:
            begun.append(number)
            return number

        await run.step("first", act, 1)
        yield "first"
        await stored.wait()
        await asyncio.gather(
            run.step("second", act, 2), run.call("third", {"number": 3}, act), run.step("4", act, 4)
        )
        yield "never"

    store = MemoryStore()
    owner = Bench(FunctionAdapter(agent), store=store)
    # Neither replica is opened: nothing looks for stops but the acts.
    reader = owner.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopping = asyncio.ensure_future(Bench(Scripted([]), store=store).engine.stop(Bench.KEY))
    while (record := (await store.load(Bench.KEY)).record) is None or record.stop is None:
        await asyncio.sleep(0)
    stored.set()
    assert (await stopping).status == "success"
    assert outcome(await reader.rest()) == "cancelled"
    assert begun == [1]
