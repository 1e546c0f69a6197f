"""Readers that come to a thread while something runs on it, here or elsewhere."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.streaming import event_stream as stream
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.hooked import HookedStore, settles
from tests.support.agents import (
    Answering,
    Bench,
    Reader,
    Scripted,
    approval,
    eventually,
    outcome,
    result,
    settle,
)


def come(bench: Bench) -> Reader:
    """Come to the thread, as a page does that was reloaded."""
    return Reader(*show_thread(bench.engine, bench.call(runId="mine")))


def held(*before: str) -> tuple[Scripted, asyncio.Event]:
    """An agent that says something, and the rest once it is let go."""
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for text in before:
            yield text
        await go.wait()
        yield "the end"

    return Scripted(script), go


async def test_a_run_of_another_process_is_shown_when_it_ends() -> None:
    agent, go = held("so far ")
    store = MemoryStore()
    here, there = Bench(Scripted(["never"]), store=store), Bench(agent, store=store)
    running = there.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    reader = come(here)
    shown = await reader.until("MESSAGES_SNAPSHOT")
    assert [m["content"] for m in shown["messages"]] == ["go"]
    go.set()
    await running.rest()
    events = await reader.rest()

    assert reader.kinds == [
        "RUN_STARTED",
        *["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"] * 2,
        "RUN_FINISHED",
    ]
    assert [m["content"] for m in events[-2]["messages"]] == ["go", "so far the end"]
    assert events[-1]["runId"] == "mine"


async def test_a_question_of_another_process_is_shown_when_it_is_asked() -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "I ask."
        await go.wait()
        yield Pause([approval()])

    store = MemoryStore()
    here, there = Bench(Scripted(["never"]), store=store), Bench(Scripted(script), store=store)
    running = there.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    reader = come(here)
    await reader.until("MESSAGES_SNAPSHOT")
    go.set()

    assert (await reader.rest())[-1]["outcome"] == (await running.rest())[-1]["outcome"]


async def test_a_run_whose_process_is_gone_is_recovered_and_shown() -> None:
    agent, _ = held("so far")
    now = 1000.0
    store = MemoryStore(lambda: now)
    there = Bench(agent, store=store)
    running = there.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    now += there.settings.lease_seconds + 1
    here = Bench(Scripted(["never"]), store=store)
    events = await come(here).rest()

    assert outcome(events) == "success"
    assert (await here.load()).status is ThreadStatus.IDLE


async def test_a_thread_that_is_deleted_meanwhile_ends_the_stream() -> None:
    agent, _ = held("so far")
    store = MemoryStore()
    here, there = Bench(Scripted(["never"]), store=store), Bench(agent, store=store)
    async with there.open():
        running = there.begin("go")
        await running.until("TEXT_MESSAGE_CONTENT")
        reader = come(here)
        await reader.until("MESSAGES_SNAPSHOT")
        await there.engine.delete(there.KEY)
        assert outcome(await reader.rest()) == "success"


async def test_a_follower_that_takes_nothing_holds_the_run_back_until_it_leaves() -> None:
    yielded = 0
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        nonlocal yielded
        yield "so far"
        await go.wait()
        for _ in range(2_000):
            yielded += 1
            yield "x" * 100

    bench = Bench(Scripted(script), pipe_events=50)
    running = bench.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    reader = come(bench)
    await reader.until("TEXT_MESSAGE_CONTENT")
    running.leave()
    go.set()
    await settle(500)
    assert 0 < yielded <= 60
    reader.leave()

    async def done() -> bool:
        return (await bench.load()).status is ThreadStatus.IDLE

    await eventually(done)
    assert yielded == 2_000


async def test_a_follower_that_takes_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "FOLLOWER_PATIENCE", 0.05)
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        for _ in range(500):
            yield "x" * 100

    bench = Bench(Scripted(script), pipe_events=50)
    running = bench.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    come(bench)
    awake = come(bench)
    await awake.until("TEXT_MESSAGE_CONTENT")
    go.set()

    running_to_end, awake_to_end = await asyncio.gather(running.rest(), awake.rest())
    assert outcome(running_to_end) == outcome(awake_to_end) == "success"


async def test_a_stop_does_not_wait_for_a_follower_that_takes_nothing() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        while True:
            yield "x" * 100

    bench = Bench(Scripted(script), pipe_events=50)
    async with bench.open():
        running = bench.begin("go")
        await running.until("TEXT_MESSAGE_CONTENT")
        reader = come(bench)
        running.leave()
        await settle(500)
        async with asyncio.timeout(5):
            stopped = await bench.engine.stop(bench.KEY)
        assert stopped.status == "success"
        assert outcome(await reader.rest()) == "cancelled"


async def test_a_result_that_is_not_stored_yet_is_told_to_nobody_and_then_once() -> None:
    store = HookedStore()
    stored, storing = asyncio.Event(), asyncio.Event()

    async def hold(change: Change) -> None:
        if settles(change):
            storing.set()
            await stored.wait()

    store.before = hold
    bench = Bench(Answering(), store=store)
    asked = await bench.ask()
    running = bench.begin(resume=bench.entries(asked))
    await eventually(storing.is_set)
    reader = come(bench)
    shown = await reader.until("MESSAGES_SNAPSHOT")
    assert "tool" not in [m["role"] for m in shown["messages"]]
    stored.set()
    await running.rest()
    await reader.rest()
    assert reader.kinds.count("TOOL_CALL_RESULT") == 1


async def test_a_reader_that_comes_while_the_end_is_stored_is_told_the_end() -> None:
    store = HookedStore()
    stored, storing = asyncio.Event(), asyncio.Event()

    async def hold(change: Change) -> None:
        if change.record.run is None:
            storing.set()
            await stored.wait()

    agent = Scripted(["done"])
    bench = Bench(agent, store=store)
    store.before = hold
    running = bench.begin("go")
    await eventually(storing.is_set)
    reader = come(bench)
    await settle()
    stored.set()
    assert outcome(await running.rest()) == outcome(await reader.rest()) == "success"
    assert [m["content"] for m in reader.events[-2]["messages"]] == ["go", "done"]


@pytest.mark.parametrize("code", ["AGENT_ERROR", "STORE_UNAVAILABLE"])
async def test_followers_are_told_how_a_run_failed(code: str) -> None:
    go = asyncio.Event()
    store = HookedStore()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await go.wait()
        if code == "STORE_UNAVAILABLE":
            store.down = True
        else:
            raise ValueError("no")

    bench = Bench(Scripted(script), store=store, store_retry=0.05)
    running = bench.begin("go")
    await running.until("TEXT_MESSAGE_CONTENT")
    reader = come(bench)
    await reader.until("TEXT_MESSAGE_CONTENT")
    go.set()
    assert outcome(await running.rest()) == outcome(await reader.rest()) == code


async def test_a_store_that_is_down_is_no_stream() -> None:
    store = HookedStore()
    bench = Bench(Scripted(["never"]), store=store)
    store.down = True
    with pytest.raises(StoreUnavailable):
        await come(bench).rest()


async def test_a_shutdown_ends_the_stream_of_who_waits_for_another_process() -> None:
    agent, _ = held("so far")
    store = MemoryStore()
    there = Bench(agent, store=store)
    here = Bench(Scripted(["never"]), store=store, shutdown_grace=0.0)
    async with here.open():
        running = there.begin("go")
        await running.until("TEXT_MESSAGE_CONTENT")
        reader = come(here)
        await reader.until("MESSAGES_SNAPSHOT")
        async with asyncio.timeout(5):
            await here.engine.aclose()
    assert outcome(await reader.rest()) == "SHUTTING_DOWN"


async def test_a_tool_result_of_two_parallel_questions_reaches_followers_in_order() -> None:
    go = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        await go.wait()
        yield result("c1")
        yield result("c2")

    bench = Bench(Scripted([Pause([approval("c1"), approval("c2")])], resumed))
    asked = await bench.ask()
    running = bench.begin(resume=bench.entries(asked))
    await running.until("MESSAGES_SNAPSHOT")
    reader = come(bench)
    await reader.until("MESSAGES_SNAPSHOT")
    go.set()
    await running.rest()
    await reader.rest()
    told = [e["toolCallId"] for e in reader.events if e["type"] == "TOOL_CALL_RESULT"]
    assert told == ["c1", "c2"]
