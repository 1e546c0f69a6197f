"""A store that does not answer, or whose acknowledgements get lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import Fenced, StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from tests.engine.run.hooked import HookedStore, claims, ends, settles
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    outcome,
    pass_time,
    result,
    settle,
    text_events,
)
from tests.support.clock import FakeClock

KINDS = {"claim": claims, "gated result": settles, "final": ends}


class Timed:
    """A bench on a clock that a task moves on, so that retries and leases take no time."""

    def __init__(self, adapter: Scripted, **settings: Any) -> None:
        self.clock = FakeClock()
        self.store = HookedStore(self.clock.time)
        self.adapter = adapter
        self.bench = Bench(adapter, store=self.store, clock=self.clock, **settings)
        self.ticking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Timed":
        self.ticking = asyncio.create_task(pass_time(self.clock, 1e9, 0.1))
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self.ticking is not None
        self.ticking.cancel()


@pytest.mark.parametrize("written", [False, True], ids=["lost request", "lost acknowledgement"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_commit_that_fails_twice_is_tried_again_under_the_same_id_and_all_goes_well(
    kind: str, written: bool
) -> None:
    agent = Answering()
    async with Timed(agent) as timed:
        asked = await timed.bench.ask()
        timed.store.tries.clear()
        timed.store.fail(KINDS[kind], times=2, written=written)
        events = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(events) == "success"
        assert len(agent.executed) == 1
        most = max(timed.store.tries.count(w) for w in timed.store.tries)
        assert most == 3
        loaded = await timed.bench.load(asked[0]["id"])
        assert loaded.interrupts[asked[0]["id"]].status is InterruptStatus.RESOLVED
        assert [r.outcome for r in loaded.receipts.values()] == ["finished"]
        again = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(again) == "success"
        assert len(agent.executed) == 1


@pytest.mark.parametrize("written", [False, True], ids=["lost request", "lost acknowledgement"])
async def test_a_claim_that_stays_unanswered_is_a_503_and_runs_nothing(written: bool) -> None:
    agent = Answering()
    async with Timed(agent, store_retry=2.0, lease_seconds=6.0) as timed:
        asked = await timed.bench.ask()
        timed.store.fail(claims, times=1000, written=written)
        with pytest.raises(StoreUnavailable):
            await timed.bench.say(resume=timed.bench.entries(asked))
        assert agent.executed == []
        timed.store.fail(claims, times=0, written=written)
        again = await timed.bench.say(resume=timed.bench.entries(asked))
        # A claim that did arrive is given back: this process knows that nothing came of it.
        assert outcome(again) == "success"
        assert len(agent.executed) == 1
        assert outcome(await timed.bench.say("more")) == "interrupt"


async def test_an_unanswered_claim_that_cannot_be_given_back_counts_as_lost() -> None:
    agent = Answering()
    async with Timed(agent, store_retry=2.0, lease_seconds=6.0) as timed:
        asked = await timed.bench.ask()
        timed.store.fail(lambda change: True, times=1000, written=True)
        timed.store.before = _refuse_all_but_claims
        with pytest.raises(StoreUnavailable):
            await timed.bench.say(resume=timed.bench.entries(asked))
        timed.clock.advance(10)
        timed.store.fail(claims, times=0, written=True)
        timed.store.fail(claims, times=0, written=False)
        again = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(again) == "RUN_INDETERMINATE"
        assert agent.executed == []
        assert outcome(await timed.bench.say("more")) == "interrupt"


async def _refuse_all_but_claims(change: Change) -> None:
    if not claims(change):
        raise StoreUnavailable("no answer")


@pytest.mark.parametrize("written", [False, True], ids=["lost request", "lost acknowledgement"])
async def test_a_gated_result_that_cannot_be_stored_is_not_sent_and_never_executed_again(
    written: bool,
) -> None:
    agent = Answering()
    async with Timed(agent, store_retry=2.0, lease_seconds=6.0) as timed:
        asked = await timed.bench.ask()
        timed.store.fail(settles, times=1000, written=written)
        events = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(events) == "STORE_UNAVAILABLE"
        assert "TOOL_CALL_RESULT" not in [e["type"] for e in events]
        timed.clock.advance(10)
        again = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(again) == "RUN_INDETERMINATE"
        assert len(agent.executed) == 1
        ask = (await timed.bench.load(asked[0]["id"])).interrupts[asked[0]["id"]]
        wanted = InterruptStatus.RESOLVED if written else InterruptStatus.INDETERMINATE
        assert ask.status is wanted
        last = (await timed.bench.load()).messages[-1].message
        assert last["role"] != "tool" or written or "unknown" in last["content"]
        timed.store.fail(settles, times=0, written=written)
        assert outcome(await timed.bench.say("more")) == "interrupt"


@pytest.mark.parametrize("written", [False, True], ids=["lost request", "lost acknowledgement"])
async def test_an_end_that_cannot_be_stored_is_told_as_such(written: bool) -> None:
    agent = Answering()
    async with Timed(agent, store_retry=2.0, lease_seconds=6.0) as timed:
        asked = await timed.bench.ask()
        timed.store.fail(ends, times=1000, written=written)
        events = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(events) == "STORE_UNAVAILABLE"
        assert "RUN_FINISHED" not in [e["type"] for e in events]
        timed.store.fail(ends, times=0, written=written)
        timed.clock.advance(10)
        again = await timed.bench.say(resume=timed.bench.entries(asked))
        assert outcome(again) == ("success" if written else "RUN_INDETERMINATE")
        assert len(agent.executed) == 1
        results = [m.message for m in (await timed.bench.load()).messages]
        assert [m["content"] for m in results if m["role"] == "tool"] == ["done"]


async def test_an_interrupt_that_cannot_be_stored_is_never_shown() -> None:
    async with Timed(Answering(), store_retry=2.0, lease_seconds=6.0) as timed:
        timed.store.fail(ends, times=1000, written=False)
        events = await timed.bench.say("go")
        assert outcome(events) == "STORE_UNAVAILABLE"
        assert "RUN_FINISHED" not in [e["type"] for e in events]


async def test_a_flush_that_fails_is_made_up_for() -> None:
    finish = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events("m1", "first"):
            yield item
        await finish.wait()

    async with Timed(Scripted(script), store_retry=1.0) as timed:
        reader = timed.bench.begin("go")
        await reader.until("TEXT_MESSAGE_END")
        timed.store.fail(lambda change: bool(change.messages), times=6, written=False)
        await settle(2000)
        assert [c for _, c in await timed.bench.texts()] == ["go", "first"]
        finish.set()
        assert outcome(await reader.rest()) == "success"


async def test_a_flush_that_fails_while_the_run_ends_loses_no_message() -> None:
    finish, failed = asyncio.Event(), asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events("m1", "first"):
            yield item
        await finish.wait()
        yield "last"

    clock = FakeClock()
    store = HookedStore(clock.time)
    bench = Bench(Scripted(script), store=store, clock=clock, store_retry=2.0)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_END")
    store.fail(lambda change: not failed.is_set(), times=1000, written=False)
    await pass_time(clock, 1.0)  # the flush has begun and is tried again and again
    finish.set()
    await settle()
    await pass_time(clock, 2.0)  # it has given up; the end is tried now
    failed.set()
    await pass_time(clock, 3.0)
    assert outcome(await reader.rest()) == "success"
    assert [c for _, c in await bench.texts()] == ["go", "first", "last"]


async def test_a_gated_result_whose_write_fails_while_the_run_is_stopped_is_kept() -> None:
    failed = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        yield result("c1", "sent")
        await asyncio.Event().wait()

    clock = FakeClock()
    store = HookedStore(clock.time)
    adapter = Scripted([Pause([approval()])], resumed)
    bench = Bench(adapter, store=store, clock=clock, store_retry=2.0)
    asked = await bench.ask()
    store.fail(lambda change: not claims(change) and not failed.is_set(), times=1000, written=False)
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TEXT_MESSAGE_CONTENT")
    await settle()
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, force=True))
    await settle()
    await pass_time(clock, 2.5)
    failed.set()
    await pass_time(clock, 3.0)
    assert (await stopping).status == "success"
    assert outcome(await reader.rest()) == "cancelled"
    loaded = await bench.load(asked[0]["id"])
    assert loaded.interrupts[asked[0]["id"]].status is InterruptStatus.RESOLVED
    assert [m.message["content"] for m in loaded.messages if m.message["role"] == "tool"] == [
        "sent"
    ]


async def test_a_store_that_is_down_before_the_run_is_no_stream() -> None:
    store = HookedStore()
    bench = Bench(Scripted(["x"]), store=store)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.say("go")


async def test_a_store_that_goes_down_while_an_input_waits_is_an_error_event() -> None:
    release = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        await release.wait()
        yield result("c1")

    clock = FakeClock()
    store = HookedStore(clock.time)
    bench = Bench(Scripted([Pause([approval()])], resumed), store=store, clock=clock)
    other = Bench(Scripted(["x"]), store=store, clock=clock)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("MESSAGES_SNAPSHOT")
    joined = other.begin(resume=bench.entries(asked))
    await joined.until("RUN_STARTED")
    store.down = True
    async with asyncio.timeout(5):
        assert outcome(await joined.rest()) == "STORE_UNAVAILABLE"
    store.down = False
    release.set()
    assert outcome(await reader.rest()) == "success"


async def test_a_store_that_is_down_for_a_whole_lease_ends_the_run_before_the_lease_does() -> None:
    clock = FakeClock()
    store = HookedStore(clock.time)

    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    bench = Bench(Scripted(forever, ["next"]), store=store, clock=clock, lease_seconds=30.0)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    store.down = True
    began = clock.monotonic()
    rest = asyncio.create_task(reader.rest())
    for _ in range(120):
        if rest.done():
            break
        await pass_time(clock, 0.25)
    assert clock.monotonic() - began < 30.0
    assert outcome(await rest) == "RUN_INDETERMINATE"
    store.down = False
    assert (await bench.load()).status is ThreadStatus.RUNNING
    clock.advance(31)
    assert outcome(await bench.say("more")) == "success"
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_a_stop_whose_request_cannot_be_stored_raises() -> None:
    store = HookedStore()
    bench = Bench(Scripted(["x"]), store=store)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.engine.stop(bench.KEY)


@pytest.mark.parametrize("paused", [False, True], ids=["receipt", "interrupt"])
async def test_an_end_whose_acknowledgement_is_lost_is_known_again_after_others_went_on(
    paused: bool,
) -> None:
    """The write id is overwritten by then; what the end left behind tells."""
    agent = Answering()
    async with Timed(agent) as timed:
        other = Bench(Scripted(["other"]), store=timed.store, clock=timed.clock)
        asked = [] if paused else await timed.bench.ask()
        ended = False

        async def go_on(change: Change) -> None:
            nonlocal ended
            if ends(change) and not ended:
                ended = True
                if paused:
                    await other.engine.stop(other.KEY)
                else:
                    await other.say("and then?")
                raise StoreUnavailable("the answer got lost")

        timed.store.after = go_on
        if paused:
            assert outcome(await timed.bench.say("go")) == "interrupt"
        else:
            events = await timed.bench.say(resume=timed.bench.entries(asked))
            assert outcome(events) == "success"
            assert (await timed.bench.texts())[-1] == ("assistant", "other")


async def test_what_becomes_of_a_conflicting_end_is_unknown_while_the_store_is_down() -> None:
    async with Timed(Answering()) as timed:

        async def taken_over(change: Change) -> None:
            if ends(change):
                timed.store.down = True
                raise Fenced("somebody else's")

        timed.store.before = taken_over
        assert outcome(await timed.bench.say("go")) == "RUN_INDETERMINATE"


async def test_a_mistake_of_the_bridge_is_raised_before_the_stream_and_an_event_within_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(change: Change) -> None:
        if condition(change):
            raise ZeroDivisionError("hunter2")

    store = HookedStore()
    store.before = broken
    bench = Bench(Scripted(["x"]), store=store)
    condition: Callable[[Change], bool] = claims
    with pytest.raises(ZeroDivisionError):
        await bench.say("go")
    condition = ends
    events = await bench.say("go")
    assert outcome(events) == "INTERNAL_ERROR"
    assert "hunter2" not in str(events)
    assert "the bridge itself failed" in caplog.text
