"""Every store: who looks after work that a run has left, and when the next look is due."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import ClassVar

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.protocol.contract.transitions import look
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import Json, ThreadRecord
from agui_bridge.stores.base import Due, Expected, Store
from tests.stores.samples import KEY, LEASE_SECONDS, ask, idle, interrupted, put, running, write_id
from tests.support.agents import Bench, Scripted, approval, outcome, result
from tests.support.clock import FakeClock


async def left(store: Store, clock: FakeClock, note: object = "task 1") -> ThreadRecord:
    """A thread that does nothing, and has left work a second ago."""
    watch = Watch(note, clock.time() + 1.0, clock.time() + 100.0, ("ann", "bob"))
    record = (await put(store, idle(watch=watch))).record
    assert await store.due() == []
    clock.advance(1.0)
    return record


async def test_a_watch_comes_back_as_it_went_and_is_due_in_its_time(
    store: Store, clock: FakeClock
) -> None:
    record = await left(store, clock, {"tasks": {"a": [1, None]}})

    assert await store.due() == [Due(KEY, "expiry")]
    loaded = await store.load(KEY)
    assert loaded.record is not None
    assert loaded.record.watch == record.watch
    assert loaded.look_is_due


async def test_who_takes_the_look_is_alone_and_the_next_one_is_due_later(
    store: Store, clock: FakeClock
) -> None:
    await left(store, clock)
    loaded = await store.load(KEY)
    assert loaded.record is not None
    seen = Expected(version=loaded.record.version)

    await store.commit(KEY, look(loaded), seen, write_id())

    assert await store.due() == []
    clock.advance(1.0)
    assert await store.due() == [Due(KEY, "expiry")]
    again = await store.load(KEY)
    assert again.record is not None
    assert again.record.watch is not None
    assert again.record.watch.looks == 1


async def test_a_thread_that_does_anything_is_not_looked_after(
    store: Store, clock: FakeClock
) -> None:
    record = await left(store, clock)
    runs = running(watch=record.watch)
    seen = Expected(version=record.version)
    taken = await put(store, runs, seen, lease_seconds=LEASE_SECONDS)

    assert await store.due() == []
    asks = interrupted(watch=record.watch)
    seen = Expected(version=taken.record.version)
    asked = await put(store, asks, seen, interrupts=(ask("i1"),))
    assert await store.due() == []
    seen = Expected(version=asked.record.version)
    await put(store, replace(asks, status=record.status, batch=None), seen)
    assert await store.due() == [Due(KEY, "expiry")]


async def test_nothing_is_due_of_a_watch_that_is_over_or_of_a_thread_that_is_gone(
    store: Store, clock: FakeClock
) -> None:
    record = await left(store, clock)
    ended = await put(store, idle(), Expected(version=record.version))

    assert await store.due() == []
    put_again = await put(store, idle(watch=record.watch), Expected(version=ended.record.version))
    assert await store.due() == [Due(KEY, "expiry")]
    await store.delete(KEY, Expected(version=put_again.record.version))
    assert await store.due() == []


class Leaving(Scripted):
    """An adapter that leaves work with each message, which asks for an approval later."""

    executed: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__(self.script, looks=True)

    async def look(self, left: Json) -> bool:
        return bool(left == {"task": 1})

    async def script(self, run: Run) -> AsyncIterator[RunItem]:
        if run.looks:
            yield Pause([approval("c1")])
            return
        run.left = {"task": 1} if run.resume is None else None
        if run.resume is not None:
            self.executed.append("c1")
            yield result("c1", "done")
        elif run.text == "slow":
            yield "Begun."
            await asyncio.Event().wait()


async def test_two_processes_ask_once_what_is_left_and_carry_the_answer_out_once(
    store: Store, clock: FakeClock
) -> None:
    Leaving.executed.clear()
    two = [Bench(Leaving(), store=store, clock=clock) for _ in range(2)]
    await two[0].say("one")
    clock.advance(1.0)

    await asyncio.gather(*(sweep(b.store, mint, b.engine.looks.take) for b in (*two, *two)))
    for bench in two:
        await asyncio.gather(*bench.engine._tasks)

    (ask,) = (await two[0].load()).asks
    answer = [{"interruptId": ask.id, "status": "resolved", "payload": {"approved": True}}]
    told = await asyncio.gather(*(b.say(resume=answer) for b in (*two, *two)))
    assert {outcome(events) for events in told} == {"success"}
    assert Leaving.executed == ["c1"]
    assert await store.due() == []


async def test_a_lost_run_leaves_what_it_noted_before_it_said_anything_more(
    store: Store, clock: FakeClock
) -> None:
    Leaving.executed.clear()
    lost, other = (Bench(Leaving(), store=store, clock=clock) for _ in range(2))
    reader = lost.begin("slow")
    await reader.until("TEXT_MESSAGE_CONTENT")
    # The process stands still, and its lease passes.
    clock.advance(other.settings.lease_seconds + 1.0)

    for _ in range(2):
        await sweep(other.store, mint, other.engine.looks.take)
        await asyncio.gather(*other.engine._tasks)

    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"
    (ask,) = (await other.load()).asks
    assert ask.asked_by == "ann"
    answer = [{"interruptId": ask.id, "status": "resolved", "payload": {"approved": True}}]
    told = await asyncio.gather(*(b.say(resume=answer) for b in (lost, other, other)))
    assert {outcome(events) for events in told} == {"success"}
    assert Leaving.executed == ["c1"]
