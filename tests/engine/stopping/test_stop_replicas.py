"""A stop from another replica."""

from __future__ import annotations

import asyncio

import pytest

from agui_bridge.adapters import Pause
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
