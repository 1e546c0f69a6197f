"""Messages that come while a run is being stopped, and stops that come while it ends."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.run.execution import Execution
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import StopRequest
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.hooked import HookedStore, ends
from tests.support.agents import Bench, Scripted, as_time_passes, outcome, settle
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


async def test_a_message_during_a_stop_waits_for_its_end() -> None:
    finish = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await finish.wait()

    bench = Bench(Scripted(slow, ["next"], stop=True))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
    await settle()
    following = bench.begin("more")
    await following.until("RUN_STARTED")
    await settle()
    assert following.kinds == ["RUN_STARTED"]
    finish.set()
    assert outcome(await following.rest()) == "success"
    assert (await stopping).status == "success"
    await reader.rest()


async def test_a_message_during_a_forced_stop_waits_for_its_end_too() -> None:
    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.1)

    bench = Bench(Scripted(slow, ["next"]))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, force=True))
    await settle(5)
    assert outcome(await bench.say("more")) == "success"
    assert (await stopping).status == "success"
    await reader.rest()


async def test_a_message_waits_for_a_stop_no_longer_than_its_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()

    async def deaf(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    store = MemoryStore(clock.time)
    bench = Bench(Scripted(deaf, stop=True), store=store, clock=clock)
    other = Bench(Scripted(["other"]), store=store, clock=clock)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    # The owner has not noticed it: only the store knows of the stop.
    record = (await bench.load()).record
    assert record is not None and record.run is not None
    stop = StopRequest(record.run.token, False, clock.time() + 3)
    await store.request_stop(bench.KEY, stop)
    following = asyncio.create_task(other.say("more"))
    await settle()
    assert not following.done()
    # A hint that is lost.
    monkeypatch.setattr(Execution, "notice_stop", lambda execution, stop: None)
    began = clock.monotonic()
    assert outcome(await as_time_passes(clock, following)) == "RUN_IN_PROGRESS"
    assert clock.monotonic() - began >= 3
    await bench.engine.stop(bench.KEY, force=True)
    await reader.rest()


@pytest.mark.parametrize(
    "script, reason",
    [
        (["x"], "The run had ended before it could be stopped."),
        (["x", ValueError("no")], "The run failed before it could be stopped."),
    ],
    ids=["finished", "failed"],
)
async def test_a_stop_of_a_run_whose_end_is_being_stored_says_how_it_ended(
    script: list[Any], reason: str
) -> None:
    store, reached, go = HookedStore(), asyncio.Event(), asyncio.Event()

    async def hold(change: Change) -> None:
        if ends(change):
            reached.set()
            await go.wait()

    store.before = hold
    bench = Bench(Scripted(script), store=store)
    reader = bench.begin("go")
    await eventually(reached.is_set)
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
    await settle()
    go.set()
    stopped = await stopping
    assert (stopped.status, stopped.error) == ("error", reason)
    await reader.rest()


async def test_a_stop_of_a_run_that_another_has_followed_since_stops_neither() -> None:
    store, reached, go = HookedStore(), asyncio.Event(), asyncio.Event()
    wait = asyncio.Event()

    async def hold(change: Change) -> None:
        if ends(change) and not reached.is_set():
            reached.set()
            await go.wait()

    async def second(run: Run) -> AsyncIterator[RunItem]:
        yield "y"
        await wait.wait()

    store.before = hold
    bench = Bench(Scripted(["x"], second), store=store)
    first = bench.begin("go")
    await eventually(reached.is_set)
    other = Bench(Scripted([]), store=store)
    stopping = asyncio.create_task(other.engine.stop(other.KEY))
    await settle()
    go.set()
    await first.rest()
    following = bench.begin("more")
    await following.until("TEXT_MESSAGE_CONTENT")
    stopped = await stopping
    assert stopped.status == "error"
    wait.set()
    assert outcome(await following.rest()) == "success"
