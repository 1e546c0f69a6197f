"""Runs that sleep: woken once, in whichever process, by whatever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import FunctionRun
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.engine import recovery
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.engine.unasked_runs import LookAround
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import TIMER
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey, ThreadStatus
from agui_bridge.stores.base import Store
from tests.stores.conftest import Opener
from tests.support.agents import Bench, outcome
from tests.support.clock import FakeClock

DAY = 86400.0


class Sleeper:
    """A function that sleeps for a day, and what it did in all processes."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def __call__(self, run: FunctionRun) -> AsyncIterator[str]:
        yield "I wait. "
        woken = await run.sleep(DAY)
        await run.step("act", lambda: self.done.append(woken))
        yield f"Woken: {woken}."


def benches(sleeper: Sleeper, clock: FakeClock, *stores: Store) -> list[Bench]:
    return [Bench(FunctionAdapter(sleeper), store=store, clock=clock) for store in stores]


async def sweep_at_once(*made: Bench) -> None:
    """Have the sweepers of processes look at once, and see through what they begin."""
    swept = (sweep(b.store, mint, b.engine.looks.take) for b in made)
    await asyncio.gather(*swept)
    for bench in made:
        await asyncio.gather(*bench.engine._tasks)


async def test_of_several_sweepers_one_wakes_a_run_at_its_time(
    opener: Opener, clock: FakeClock
) -> None:
    sleeper = Sleeper()
    made = benches(sleeper, clock, *[await opener() for _ in range(3)])
    assert outcome(await made[0].say("go")) == "interrupt"
    clock.advance(DAY - 1.0)
    await sweep_at_once(*made)
    assert sleeper.done == []
    assert await made[0].store.due() == []

    clock.advance(1.0)
    await sweep_at_once(*made, *made)

    assert sleeper.done == ["time"]
    assert await made[0].texts() == [
        ("user", "go"),
        ("assistant", "I wait. "),
        ("assistant", "Woken: time."),
    ]
    assert await made[1].store.due() == []
    assert (await made[0].load()).status is ThreadStatus.IDLE


async def test_of_time_a_wake_and_a_stop_at_once_one_ends_the_sleep(
    opener: Opener, clock: FakeClock
) -> None:
    sleeper = Sleeper()
    made = benches(sleeper, clock, *[await opener() for _ in range(2)])
    (timer,) = await made[0].ask()
    clock.advance(DAY)
    early = Bench.entries([timer], {})

    _, told, stopped = await asyncio.gather(
        sweep_at_once(*made), made[0].say(resume=early), made[1].engine.stop(made[1].KEY)
    )
    await sweep_at_once(*made)

    assert len(sleeper.done) <= 1
    (ask,) = (await made[0].load(timer["id"])).interrupts.values()
    assert outcome(told) in ("INTERRUPT_EXPIRED", "INTERRUPT_ALREADY_ANSWERED")
    if ask.status is InterruptStatus.CANCELLED:
        assert (sleeper.done, stopped.status) == ([], "success")
    else:
        assert ask.status is InterruptStatus.EXPIRED
    assert (await made[0].load()).status is ThreadStatus.IDLE


async def test_a_wake_in_time_is_carried_out_once_and_time_comes_to_nothing(
    opener: Opener, clock: FakeClock
) -> None:
    sleeper = Sleeper()
    made = benches(sleeper, clock, *[await opener() for _ in range(2)])
    (timer,) = await made[0].ask()

    told = await asyncio.gather(*(b.say(resume=Bench.entries([timer], {})) for b in (*made, *made)))
    clock.advance(DAY)
    await sweep_at_once(*made)

    assert {outcome(events) for events in told} == {"success"}
    assert sleeper.done == ["early"]


async def test_one_that_sleeps_costs_no_look_until_its_time_and_the_first_due_comes_first(
    store: Store, clock: FakeClock
) -> None:
    sleeper = Sleeper()
    threads = [
        Bench(FunctionAdapter(sleeper), store=store, clock=clock, thread=f"t{n}") for n in range(5)
    ]
    for bench in threads:
        await bench.say("go")
        clock.advance(60.0)
    clock.advance(DAY - 300.0)

    assert [due.key.thread for due in await store.due()] == ["t0"]
    clock.advance(300.0)
    assert [due.key.thread for due in await store.due(3)] == ["t0", "t1", "t2"]


@pytest.mark.parametrize("lacks", ["the agent", "room in the scope"])
async def test_runs_that_can_not_be_woken_here_keep_no_other_waiting(
    lacks: str, store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_PAGE", 2)
    sleeper = Sleeper()
    *stuck, last = [
        Bench(FunctionAdapter(sleeper), store=store, clock=clock, thread=f"t{n}") for n in range(5)
    ]
    for bench in (*stuck, last):
        await bench.say("go")
    clock.advance(DAY)
    put_off = recovery.PutOff(clock)
    here = LookAround(store, {}, last.engine.submit, last.engine.spawn, mint)
    if lacks == "room in the scope":
        full = Bench(FunctionAdapter(sleeper), store=store, clock=clock, max_runs_per_scope=1)
        full.engine._slots.take("default")
        here = full.engine.looks

    async def look(key: ThreadKey, loaded: Loaded) -> bool:
        looks = last.engine.looks if key == last.KEY else here
        return await looks.take(key, loaded)

    for _ in range(3):
        await sweep(store, mint, look, put_off)
    await asyncio.gather(*last.engine._tasks)
    assert sleeper.done == ["time"]
    assert len(put_off) == len(stuck)

    # They are tried again, by whoever can.
    clock.advance(30.0)
    put_off_no_more = [await sweep(store, mint, last.engine.looks.take, put_off) for _ in range(2)]
    await asyncio.gather(*last.engine._tasks)
    assert put_off_no_more == [len(stuck), 0]
    assert sleeper.done == ["time"] * 5


async def test_a_timer_is_told_as_one_with_its_time(store: Store, clock: FakeClock) -> None:
    (bench,) = benches(Sleeper(), clock, store)

    (timer,) = await bench.ask()

    assert timer["reason"] == TIMER
    assert timer["metadata"]["agui_bridge"]["timer"] == {"until": timer["expiresAt"]}
    until = (await bench.load()).asks[0].expires_at
    assert until == pytest.approx(clock.time() + DAY)
    refused = await bench.say("hello?")
    assert outcome(refused) == "INTERRUPT_PENDING"
    assert timer["expiresAt"] in refused[-1]["message"]
    odd: list[Any] = [None, True, {"wake": 1}]
    for payload in odd:
        entry = {"interruptId": timer["id"], "status": "resolved", "payload": payload}
        assert outcome(await bench.say(resume=[entry])) == "INVALID_RESUME_PAYLOAD"


async def test_a_claim_of_time_is_refused_once_somebody_was_faster(
    opener: Opener, clock: FakeClock
) -> None:
    sleeper = Sleeper()
    first, second = benches(sleeper, clock, *[await opener() for _ in range(2)])
    await first.say("go")
    clock.advance(DAY)
    loaded = await second.load()
    await sweep_at_once(first)

    await second.engine.looks.go_on(second.agent, second.KEY, loaded)
    await asyncio.gather(*second.engine._tasks)

    assert sleeper.done == ["time"]
