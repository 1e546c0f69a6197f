"""Expiry, the sweeper, what adapters are told of closed batches, and shutting down."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.engine.recovery import sweep
from agui_bridge.engine.run.execution import Execution
from agui_bridge.errors import Refused, StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.base import Due
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.hooked import HookedStore, claims
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    outcome,
    pass_time,
    result,
    settle,
)
from tests.support.clock import FakeClock


def expiring(
    *asks: Ask, expires_in: float | None = 60.0, **settings: Any
) -> tuple[Bench, Answering, FakeClock]:
    clock = FakeClock()
    agent = Answering(*asks)
    store = HookedStore(clock.time)
    return Bench(agent, store=store, clock=clock, expires_in=expires_in, **settings), agent, clock


async def test_an_expired_answer_is_refused_and_nothing_is_executed() -> None:
    bench, agent, clock = expiring()
    asked = await bench.ask()
    clock.advance(61)
    events = await bench.say(resume=bench.entries(asked))
    assert outcome(events) == "INTERRUPT_EXPIRED"
    assert events[-2]["outcome"] == {"type": "success"}
    assert agent.executed == []


async def test_a_new_message_closes_an_expired_batch_and_the_adapter_is_told_once() -> None:
    bench, agent, clock = expiring()
    asked = await bench.ask()
    clock.advance(61)
    events = await bench.say("never mind")
    assert events[2]["type"] == "MESSAGES_SNAPSHOT"
    assert events[3]["type"] == "TOOL_CALL_RESULT"
    assert "time to approve" in events[3]["content"]
    [closed] = agent.runs[-1].closed
    assert (closed.cause, closed.continuation) == ("expired", {"step": 1})
    row = (await bench.load(asked[0]["id"])).interrupts[asked[0]["id"]]
    assert row.status is InterruptStatus.EXPIRED
    assert outcome(await bench.say(resume=bench.entries(asked))) == "INTERRUPT_EXPIRED"
    clock.advance(61)
    await bench.say("next")
    assert len(agent.runs[-1].closed) == 1


async def test_cancelling_an_expired_question_is_welcome() -> None:
    bench, agent, clock = expiring()
    asked = await bench.ask()
    clock.advance(61)
    events = await bench.say(resume=bench.entries(asked, status="cancelled"))
    assert outcome(events) == "success"
    assert agent.executed == []
    row = (await bench.load(asked[0]["id"])).interrupts[asked[0]["id"]]
    assert row.status is InterruptStatus.EXPIRED


async def test_the_expired_part_of_a_batch_counts_as_cancelled() -> None:
    bench, agent, clock = expiring(approval("c1", expires_in=10), approval("c2"), expires_in=None)
    asked = await bench.ask()
    clock.advance(11)
    events = await bench.say(resume=bench.entries(asked[1:]))
    assert outcome(events) == "success"
    assert [call for call, _ in agent.executed] == ["c2"]
    results = {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}
    assert "time to approve" in results["c1"]
    rows = (await bench.load(asked[0]["id"])).interrupts
    assert [rows[i["id"]].status for i in asked] == ["expired", "resolved"]


async def test_the_sweeper_closes_expired_batches_once_and_calls_no_adapter() -> None:
    bench, agent, clock = expiring()
    asked = await bench.ask()
    assert await sweep(bench.store, lambda: "w1") == 0
    clock.advance(61)
    swept = await asyncio.gather(*(sweep(bench.store, f"w{n}".strip) for n in range(5)))
    assert sum(swept) == 1
    loaded = await bench.load(asked[0]["id"])
    assert loaded.status is ThreadStatus.IDLE
    assert [a.status for a in loaded.interrupts[asked[0]["id"]].audit] == ["open", "expired"]
    assert len(agent.runs) == 1
    await bench.say("hi")
    assert [c.cause for c in agent.runs[-1].closed] == ["expired"]


async def test_the_sweeper_runs_by_itself_and_survives_an_outage() -> None:
    clock = FakeClock()
    store = HookedStore(clock.time)
    bench = Bench(
        Answering(), store=store, clock=clock, expires_in=10.0, sweep_interval=5.0, stop_poll=1.0
    )
    async with bench.open():
        await bench.ask()
        due = store.due
        store.due = _failing_due  # type: ignore[method-assign]  # this store alone fails
        await pass_time(clock, 12)
        assert (await bench.load()).status is ThreadStatus.INTERRUPTED
        store.due = due  # type: ignore[method-assign]  # and works again
        await pass_time(clock, 6)
        assert (await bench.load()).status is ThreadStatus.IDLE


async def _failing_due(limit: int = 100) -> list[Due]:
    raise StoreUnavailable("down")


async def test_one_thread_that_cannot_be_read_does_not_keep_the_others_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    store = HookedStore(clock.time)
    broken = Bench(Answering(), store=store, clock=clock, expires_in=10.0)
    await broken.say("go", threadId="broken")
    bench = Bench(Answering(), store=store, clock=clock, expires_in=10.0)
    await bench.ask()
    clock.advance(11)
    load = store.load

    async def fragile(key, *args, **options):  # type: ignore[no-untyped-def]  # it passes on whatever it is given
        if key.thread == "broken":
            raise KeyError("not what was stored")
        return await load(key, *args, **options)

    store.load = fragile  # type: ignore[method-assign]  # this store alone fails
    with caplog.at_level(logging.ERROR, "agui_bridge"):
        assert await sweep(store, lambda: "w") == 1
    assert "the sweeper failed" in caplog.text


async def test_the_sweeper_recovers_a_lost_run_once() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)

    async def dies(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    bench = Bench(Scripted(dies), store=store, clock=clock, shutdown_grace=0.05)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    clock._elapsed += 100
    swept = await asyncio.gather(*(sweep(store, f"w{n}".strip) for n in range(5)))
    assert sum(swept) == 1
    loaded = await bench.load()
    assert loaded.status is ThreadStatus.IDLE
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "lost"
    await bench.engine.aclose()


async def test_shutting_down_lets_a_run_finish_within_its_grace() -> None:
    finish = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await finish.wait()
        yield "y"

    bench = Bench(Scripted(slow), shutdown_grace=5.0)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    closing = asyncio.create_task(bench.engine.aclose())
    await settle()
    with pytest.raises(Refused) as refused:
        await bench.say("another", threadId="t2")
    assert refused.value.code == "SHUTTING_DOWN"
    finish.set()
    await closing
    assert outcome(await reader.rest()) == "success"


async def test_shutting_down_stops_what_does_not_finish_and_keeps_its_text() -> None:
    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await asyncio.Event().wait()

    bench = Bench(Scripted(forever, stop=True), shutdown_grace=0.05)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.aclose()
    assert outcome(await reader.rest()) == "cancelled"
    assert (await bench.texts())[-1] == ("assistant", "so far")
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_shutting_down_ends_those_who_wait_for_a_run_elsewhere() -> None:
    store = MemoryStore()
    release = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        await release.wait()
        yield result("c1")

    owner = Bench(Scripted([Pause([approval()])], resumed), store=store)
    other = Bench(Scripted(["x"]), store=store, shutdown_grace=0.05, cancel_grace=0.05)
    asked = await owner.ask()
    first = owner.begin(resume=owner.entries(asked))
    await first.until("RUN_STARTED")
    waiting = other.begin(resume=owner.entries(asked))
    await waiting.until("RUN_STARTED")
    await other.engine.aclose()
    assert outcome(await waiting.rest()) == "SHUTTING_DOWN"
    release.set()
    assert outcome(await first.rest()) == "success"


async def test_an_answer_that_is_stored_after_its_time_is_refused_and_executes_nothing() -> None:
    bench, agent, clock = expiring()
    asked = await bench.ask()
    store = bench.store
    assert isinstance(store, HookedStore)

    async def stand_still(change: Change) -> None:
        # As a process does that is frozen between admission and claim.
        if claims(change):
            clock.advance(3600)

    store.before = stand_still
    assert outcome(await bench.say(resume=bench.entries(asked))) == "INTERRUPT_EXPIRED"
    assert agent.executed == []


async def test_a_stop_whose_run_ends_by_asking_closes_the_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask_now = asyncio.Event()

    async def asking(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await ask_now.wait()
        yield Pause([Ask("n", "confirmation")])

    bench = Bench(Scripted(asking, ["next"]))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    # It asks before it hears of the stop, which only the store knows.
    monkeypatch.setattr(Execution, "request_stop", lambda execution, **_: ask_now.set())
    stopped = await bench.engine.stop(bench.KEY)
    await reader.rest()
    assert stopped.status == "success"
    assert (await bench.load()).status is ThreadStatus.IDLE
    assert outcome(await bench.say("more")) == "success"
