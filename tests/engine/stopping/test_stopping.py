"""Stopping: graceful and forced, here and in another process, before, during and after."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from ag_ui.core import SubagentStartedEvent

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.stopping import StopRequests
from agui_bridge.errors import Fenced, UpstreamError
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    Principal,
    RunLease,
    StopRequest,
    ThreadStatus,
)
from agui_bridge.protocol.threads.run_ends import StopResult
from agui_bridge.stores.base import Change, Expected
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    call_events,
    eventually,
    outcome,
    pass_time,
    result,
    settle,
    text_events,
)
from tests.support.clock import FakeClock


async def until_stopped(run: Run) -> AsyncIterator[RunItem]:
    yield "partial"
    await run.stop


async def forever(run: Run) -> AsyncIterator[RunItem]:
    run.iteration = 3
    yield "partial"
    await asyncio.Event().wait()


def contents(stopped: StopResult) -> list[object]:
    return [message.get("content") for message in stopped.messages]


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_keeps_everything_and_ends_with_the_cancelled_outcome(force: bool) -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopped = await bench.engine.stop(bench.KEY, force=force)
    assert stopped.status == "success"
    assert stopped.stop_reason == "USER_INTERRUPTED"
    assert stopped.partial_response == "partial"
    assert stopped.interrupted_at_iteration == 3
    assert (stopped.message_count, contents(stopped)) == (2, ["go", "partial"])
    assert stopped.error is None
    events = await reader.rest()
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert "result" not in events[-1]
    assert [e["type"] for e in events][-2] == "TEXT_MESSAGE_END"
    last = (await bench.load()).messages[-1].message
    assert last["metadata"] == {"agui_bridge": {"truncated": True}}


async def test_a_client_from_before_1_0_is_told_of_a_stop_without_an_outcome() -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go", version=None)
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY, force=True)
    last = (await reader.rest())[-1]
    assert "outcome" not in last
    assert last["result"] == {"stopReason": "USER_INTERRUPTED"}


async def test_the_next_run_sees_what_a_stop_kept() -> None:
    agent = Scripted(until_stopped, ["next"], stop=True)
    bench = Bench(agent)
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY)
    await bench.say("more")
    assert [m.content for m in agent.runs[-1].messages] == ["go", "partial", "more"]


async def test_a_graceful_stop_lets_a_running_tool_finish_and_the_adapter_start_no_other() -> None:
    finish = asyncio.Event()

    async def working(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("c1"):
            yield item
        await finish.wait()
        yield result("c1", "finished")
        if not run.stop.requested:
            yield "never"

    bench = Bench(Scripted(working, stop=True))
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
    await settle()
    assert not stopping.done()
    finish.set()
    assert (await stopping).status == "success"
    await reader.rest()
    assert "TEXT_MESSAGE_START" not in reader.kinds
    assert [e["content"] for e in reader.events if e["type"] == "TOOL_CALL_RESULT"] == ["finished"]


async def test_a_graceful_stop_that_lasts_too_long_is_forced() -> None:
    clock = FakeClock()

    async def working(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("c1"):
            yield item
        await asyncio.Event().wait()

    bench = Bench(Scripted(working, stop=True), store=MemoryStore(clock.time), clock=clock)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    stopping = asyncio.create_task(bench.engine.stop(bench.KEY, timeout=5))
    await pass_time(clock, 4.5)
    assert not stopping.done()
    await pass_time(clock, 1)
    stopped = await stopping
    assert stopped.status == "success"
    assert "whether this tool call was executed is unknown" in str(stopped.messages[-1]["content"])
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_forced_stop_overtakes_a_graceful_one() -> None:
    async def working(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    bench = Bench(Scripted(working, stop=True))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    graceful = asyncio.create_task(bench.engine.stop(bench.KEY))
    await settle()
    forced = await bench.engine.stop(bench.KEY, force=True)
    assert [(await graceful).status, forced.status] == ["success", "success"]
    await reader.rest()


async def test_two_stops_at_once_both_succeed() -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    both = await asyncio.gather(*(bench.engine.stop(bench.KEY) for _ in range(2)))
    assert [stopped.status for stopped in both] == ["success", "success"]
    await reader.rest()


async def test_a_stop_before_the_first_event_is_not_lost() -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go")
    await eventually(lambda: bool(bench.engine.running))
    assert (await bench.engine.stop(bench.KEY, force=True)).status == "success"
    assert outcome(await reader.rest()) == "cancelled"


async def _exists(bench: Bench) -> bool:
    return (await bench.load()).record is not None


async def test_a_stop_that_races_the_natural_end_has_a_defined_answer() -> None:
    for delay in range(0, 40, 3):
        bench = Bench(Scripted(["one"]))
        reader = bench.begin("go")
        await eventually(partial(_exists, bench))
        await settle(delay)
        stopped = await bench.engine.stop(bench.KEY)
        told = outcome(await reader.rest())
        assert (stopped.status, told) in {("success", "cancelled"), ("error", "success")}
        assert (await bench.load()).status is ThreadStatus.IDLE


async def test_a_stop_after_a_natural_end_says_that_there_is_nothing_to_stop() -> None:
    bench = Bench(Scripted(["x"]))
    await bench.say("go")
    stopped = await bench.engine.stop(bench.KEY)
    assert (stopped.status, stopped.stop_reason) == ("error", None)
    assert stopped.error == "The thread has no run to stop."
    assert stopped.message_count == 2


async def test_a_second_stop_after_the_first_is_over_is_a_success_too() -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY)
    assert (await bench.engine.stop(bench.KEY)).status == "success"
    await reader.rest()


async def test_a_stop_of_an_unknown_thread_is_an_error() -> None:
    stopped = await Bench(Scripted(["x"])).engine.stop(Bench.KEY)
    assert (stopped.status, stopped.error) == ("error", "There is no such thread.")


async def test_a_stop_of_an_interrupted_thread_closes_it_and_late_approvals_are_refused() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    stopped = await bench.engine.stop(bench.KEY, principal=Principal(actor="bob"))
    assert stopped.status == "success"
    assert "not executed" in str(stopped.messages[-1]["content"])
    interrupt = (await bench.load(asked[0]["id"])).interrupts[asked[0]["id"]]
    assert interrupt.status is InterruptStatus.CANCELLED
    assert interrupt.audit[-1].actor == "bob"
    assert outcome(await bench.say(resume=bench.entries(asked))) == "INTERRUPT_ALREADY_ANSWERED"
    assert agent.executed == []
    await bench.say("more")
    assert [c.cause for c in agent.runs[-1].closed] == ["stopped"]


async def test_a_stop_reaches_the_process_that_runs_the_thread() -> None:
    store = MemoryStore()
    owner, other = Bench(Scripted(forever), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await other.engine.stop(Bench.KEY)
        assert (stopped.status, stopped.partial_response) == ("success", "partial")
        assert outcome(await reader.rest()) == "cancelled"


async def test_a_stop_from_elsewhere_of_a_run_without_a_partial_text_has_none() -> None:
    async def silent(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events("m", "whole"):
            yield item
        await asyncio.Event().wait()

    store = MemoryStore()
    owner, other = Bench(Scripted(silent), store=store), Bench(Scripted([]), store=store)
    async with owner.open(), other.open():
        reader = owner.begin("go")
        await reader.until("TEXT_MESSAGE_END")
        stopped = await other.engine.stop(Bench.KEY, force=True)
        assert (stopped.status, stopped.partial_response) == ("success", None)
        await reader.rest()


async def test_a_stop_of_a_run_whose_owner_is_gone_recovers_it() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    bench = Bench(Scripted(forever), store=store, clock=clock)
    await _abandoned_run(bench, store)
    clock.advance(60)
    stopped = await bench.engine.stop(bench.KEY)
    assert (stopped.status, stopped.error) == (
        "error",
        "The run was lost before it could be stopped.",
    )
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_a_stop_of_a_run_that_does_not_answer_says_so() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.time)
    bench = Bench(Scripted(forever), store=store, clock=clock)
    await _abandoned_run(bench, store, lease=3600.0)
    clock_task = asyncio.create_task(pass_time(clock, 60, 5.0))
    stopped = await bench.engine.stop(bench.KEY, timeout=1)
    assert stopped.status == "error"
    assert stopped.error is not None and "did not end in time" in stopped.error
    clock_task.cancel()


async def _abandoned_run(bench: Bench, store: MemoryStore, lease: float = 30.0) -> None:
    """A running thread that nobody owns."""
    bench_two = Bench(Scripted(["x"]), store=store, clock=bench.engine.clock)
    await bench_two.say("go")
    loaded = await store.load(Bench.KEY)
    record = loaded.record
    assert record is not None
    running = type(record)(
        key=record.key,
        status=ThreadStatus.RUNNING,
        version=record.version,
        run=RunLease("lost-run", "lost-token", 0.0),
    )
    change = Change(running, lease_seconds=lease)
    await store.commit(Bench.KEY, change, Expected(version=record.version), "w")


async def test_what_an_agent_raises_while_it_is_made_to_stop_is_no_failure() -> None:
    async def touchy(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise UpstreamError("the connection broke") from None

    bench = Bench(Scripted(touchy))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY)).status == "success"
    assert outcome(await reader.rest()) == "cancelled"


async def test_a_pause_that_comes_after_a_stop_asks_nobody() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        await run.stop
        yield Pause([approval()])

    bench = Bench(Scripted(script, stop=True))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY)).status == "success"
    assert outcome(await reader.rest()) == "cancelled"
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_text_that_comes_after_a_graceful_stop_is_kept() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        await run.stop
        yield ", and a goodbye"

    bench = Bench(Scripted(script, stop=True))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.stop(bench.KEY)
    await reader.rest()
    assert (await bench.texts())[-1] == ("assistant", "partial, and a goodbye")


async def test_open_subagents_and_calls_are_closed_by_a_stop() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield SubagentStartedEvent(subagent_run_id="s1", name="helper")
        yield call_events("c1")[0]
        await asyncio.Event().wait()

    bench = Bench(Scripted(script))
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_START")
    await bench.engine.stop(bench.KEY, force=True)
    await reader.rest()
    assert {"TOOL_CALL_END", "SUBAGENT_ERROR", "TOOL_CALL_RESULT"} <= set(reader.kinds)


async def test_a_stop_amid_an_approved_call_does_not_claim_that_it_was_not_executed() -> None:
    agent = Answering()
    agent.before_tool = asyncio.Event().wait
    bench = Bench(agent)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TEXT_MESSAGE_CONTENT")
    stopped = await bench.engine.stop(bench.KEY, force=True)
    [answer] = [m for m in stopped.messages if m["role"] == "tool"]
    assert "unknown" in answer["content"]
    assert outcome(await reader.rest()) == "cancelled"
    replayed = await bench.say(resume=bench.entries(asked))
    assert outcome(replayed) == "cancelled"
    assert len(agent.runs) == 2


async def test_deleting_a_running_thread_stops_it_first() -> None:
    bench = Bench(Scripted(forever))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await bench.engine.delete(bench.KEY)
    assert outcome(await reader.rest()) == "cancelled"
    assert (await bench.load()).record is None


async def test_an_agent_that_outlives_its_stop_finds_its_lease_over() -> None:
    refused = asyncio.Event()

    async def stubborn(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0.4)
        try:
            run.check_lease()
        except Fenced:
            refused.set()
        yield "never heard"

    bench = Bench(Scripted(stubborn))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    assert (await bench.engine.stop(bench.KEY, force=True)).status == "success"
    await reader.rest()
    async with asyncio.timeout(5):
        await refused.wait()
    assert "never heard" not in str(reader.events)


async def test_a_run_that_this_process_took_up_is_stopped_by_its_first_lease_too() -> None:
    heard: list[str] = []

    def run(name: str, *tokens: str) -> Any:
        owner = SimpleNamespace(tokens=tokens)
        return SimpleNamespace(
            owner=owner, run=SimpleNamespace(), notice_stop=lambda stop: heard.append(name)
        )

    class Asked(MemoryStore):
        async def stops(self, tokens: Any) -> Any:
            return [StopRequest(token, False, 1.0) for token in tokens if token == "first"]

    clock = FakeClock()
    stops = StopRequests(Asked(), clock, 1.0)
    stops.begun(lost := run("lost", "first"))
    stops.begun(run("taken up", "second", "first"))
    stops.over(lost)
    polling = asyncio.create_task(stops.poll())
    await pass_time(clock, 1.5)
    polling.cancel()

    assert heard == ["taken up"]
