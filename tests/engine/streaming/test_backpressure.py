"""Slow readers, readers that go away, and what a run does then."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.protocol.threads.records import ThreadStatus
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    call_events,
    eventually,
    outcome,
    result,
    settle,
    text_events,
)


class Counting(Scripted):
    """Streams pieces of text and counts them."""

    def __init__(self, pieces: int, size: int = 100, **capabilities: bool) -> None:
        super().__init__(self._script, **capabilities)
        self.pieces, self.size, self.yielded = pieces, size, 0

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        for _ in range(self.pieces):
            self.yielded += 1
            yield "x" * self.size


async def test_a_reader_that_takes_nothing_holds_the_adapter_back() -> None:
    agent = Counting(2_000)
    bench = Bench(agent, pipe_events=50)
    reader = bench.begin("go")
    await settle(500)
    assert agent.yielded <= 60
    await reader.rest()
    assert agent.yielded == 2_000
    assert outcome(reader.events) == "success"


async def test_a_reader_that_takes_nothing_holds_back_large_pieces_by_their_bytes() -> None:
    agent = Counting(1000, size=10_000)
    bench = Bench(agent, pipe_bytes=100_000)
    reader = bench.begin("go")
    await settle(500)
    assert agent.yielded <= 12
    await reader.rest()


async def test_what_is_ready_is_read_in_few_pieces() -> None:
    bench = Bench(Counting(1000))
    pipe, _ = bench.engine.submit(bench.call("go"))
    reads = 0
    while await pipe.read():
        reads += 1
    assert reads < 100


@pytest.mark.parametrize("stop", [True, False], ids=["stoppable", "cancelled"])
async def test_a_reader_that_leaves_stops_the_run_by_policy_and_the_text_is_kept(
    stop: bool,
) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await run.stop
        if not stop:
            await asyncio.Event().wait()

    bench = Bench(Scripted(script, stop=stop))
    reader = bench.begin("go", disconnect="stop")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    await eventually(lambda: not bench.engine.running)
    loaded = await bench.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "stopped"
    assert loaded.messages[-1].message["content"] == "so far"
    assert loaded.messages[-1].message["metadata"] == {"agui_bridge": {"truncated": True}}


async def test_a_reader_that_leaves_changes_nothing_by_the_other_policy() -> None:
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "one "
        await go.wait()
        for _ in range(5000):
            yield "x"

    bench = Bench(Scripted(script), pipe_events=10)
    reader = bench.begin("go", disconnect="continue")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    go.set()
    await eventually(lambda: not bench.engine.running)
    loaded = await bench.load()
    assert loaded.record is not None and loaded.record.ended is not None
    assert loaded.record.ended.outcome == "finished"
    assert loaded.messages[-1].message["content"] == "one " + "x" * 5000


async def test_a_reader_that_leaves_before_the_first_item_stops_the_run() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        await asyncio.Event().wait()
        yield "never"

    bench = Bench(Scripted(script))
    bench.begin("go", disconnect="stop").leave()

    async def over() -> bool:
        return (await bench.load()).record is not None and not bench.engine.running

    await eventually(over)
    assert (await bench.load()).status is ThreadStatus.IDLE


@pytest.mark.parametrize("stop", [True, False], ids=["stoppable", "cancelled"])
async def test_a_reader_that_leaves_stops_no_resumed_run_before_every_approved_call_has_its_result(
    stop: bool,
) -> None:
    release = asyncio.Event()
    agent = Answering(approval("c1"), approval("c2"), stop=stop)
    agent.before_tool = release.wait
    bench = Bench(agent)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked), disconnect="stop")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    await settle(200)
    assert bench.engine.running and not agent.runs[-1].stop.requested
    release.set()
    await eventually(lambda: not bench.engine.running)
    assert [call for call, _ in agent.executed] == ["c1", "c2"]
    loaded = await bench.load(asked[0]["id"])
    results = [m.message for m in loaded.messages if m.message["role"] == "tool"]
    assert [(r["toolCallId"], r["content"]) for r in results] == [("c1", "done"), ("c2", "done")]
    assert agent.runs[-1].stop.requested


async def test_a_reader_that_leaves_a_declined_resume_stops_it() -> None:
    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        yield "hm"
        await asyncio.Event().wait()

    bench = Bench(Scripted([Pause([approval()])], resumed))
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked, {"approved": False}), disconnect="stop")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    await eventually(lambda: not bench.engine.running)
    assert "declined" in (await bench.load()).messages[-2].message["content"]


async def test_the_next_input_waits_for_a_run_that_stops_because_its_reader_left() -> None:
    finish = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("c1"):
            yield item
        await finish.wait()
        yield result("c1")

    bench = Bench(Scripted(slow, ["next"], stop=True))
    reader = bench.begin("go", disconnect="stop")
    await reader.until("TOOL_CALL_END")
    reader.leave()
    await settle(200)
    following = bench.begin("more")
    await following.until("RUN_STARTED")
    await settle(200)
    assert following.kinds == ["RUN_STARTED"]
    finish.set()
    assert outcome(await following.rest()) == "success"
    assert following.text == "next"
    assert [role for role, _ in await bench.texts()] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


async def test_an_agent_that_ignores_cancellation_is_left_behind_and_heard_no_more() -> None:
    release = asyncio.Event()

    async def stubborn(run: Run) -> AsyncIterator[RunItem]:
        yield "before"
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                yield " ignored"
                for item in text_events("late", "unheard"):
                    yield item
        yield result("nothing")

    bench = Bench(Scripted(stubborn, ["next"]))
    reader = bench.begin("go", disconnect="continue")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopped = await bench.engine.stop(bench.KEY, force=True)
    assert (stopped.status, stopped.partial_response) == ("success", "before")
    assert outcome(await reader.rest()) == "cancelled"
    assert reader.text == "before"
    assert reader.kinds.count("TEXT_MESSAGE_START") == reader.kinds.count("TEXT_MESSAGE_END")
    assert outcome(await bench.say("more")) == "success"
    release.set()
    await settle()
    assert [content for _, content in await bench.texts()] == ["go", "before", "more", "next"]


async def test_an_agent_that_never_ends_does_not_brick_the_thread() -> None:
    release = asyncio.Event()

    async def stubborn(run: Run) -> AsyncIterator[RunItem]:
        yield "before"
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        for item in text_events("late", "unheard"):
            yield item

    bench = Bench(Scripted(stubborn, ["next"]), cancel_grace=0.05)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY, force=True)).status == "success"
    assert outcome(await bench.say("more")) == "success"
    release.set()
    await settle()
    assert [content for _, content in await bench.texts()] == ["go", "before", "more", "next"]


async def test_a_fast_agent_whose_reader_left_lets_others_have_their_turn() -> None:
    agent = Counting(100_000)
    bench = Bench(agent, pipe_events=10)
    reader = bench.begin("go", disconnect="stop")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    await settle(200)
    assert not bench.engine.running
    assert agent.yielded < 1000
