"""New messages while a run is being stopped: they wait, but not for ever."""

import asyncio
from collections.abc import AsyncIterator

from agui_bridge.adapters import Run, RunItem
from agui_bridge.protocol.records import StopRequest
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Scripted, outcome, pass_time, settle
from tests.support.clock import FakeClock


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


async def test_a_message_waits_for_a_stop_no_longer_than_its_timeout() -> None:
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
    bench.engine.running[bench.KEY].notice_stop = lambda stop: None  # type: ignore[method-assign]
    await pass_time(clock, 4)
    async with asyncio.timeout(5):
        assert outcome(await following) == "RUN_IN_PROGRESS"
    await bench.engine.stop(bench.KEY, force=True)
    await reader.rest()
