"""Leases: kept while a run lasts, lost to whoever recovers it, and never written with after."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import Fenced
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    as_time_passes,
    call_events,
    outcome,
    pass_time,
    result,
    settle,
)
from tests.support.clock import FakeClock


def two_processes(
    clock: FakeClock, first: Scripted, second: Scripted, **settings: Any
) -> tuple[Bench, Bench]:
    store = MemoryStore(clock.time)
    return (
        Bench(first, store=store, clock=clock, **settings),
        Bench(second, store=store, clock=clock, **settings),
    )


async def test_a_lease_is_renewed_while_a_tool_runs_long() -> None:
    clock = FakeClock()
    finish = asyncio.Event()
    agent = Answering()
    agent.before_tool = finish.wait
    bench, other = two_processes(clock, agent, Scripted(["x"]), lease_seconds=30.0)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TEXT_MESSAGE_CONTENT")
    await pass_time(clock, 300)
    assert outcome(await as_time_passes(clock, other.say("more"))) == "RUN_IN_PROGRESS"
    assert await sweep(bench.store, lambda: "w") == 0
    finish.set()
    assert outcome(await reader.rest()) == "success"
    assert len(agent.executed) == 1


async def test_an_owner_whose_run_was_recovered_writes_nothing_and_ends_as_indeterminate() -> None:
    clock = FakeClock()
    release = asyncio.Event()

    async def frozen(run: Run) -> AsyncIterator[RunItem]:
        yield "from the lost run"
        await release.wait()
        yield " more"
        yield result("c1", "late")

    first = Scripted([Pause([approval()])], frozen)
    bench, other = two_processes(clock, first, Scripted(["other"]))
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TEXT_MESSAGE_CONTENT")
    # The process stands still (SIGSTOP): its clock goes on, nothing of it runs.
    clock._elapsed += 100
    assert outcome(await other.say("hello?")) == "success"
    before = await bench.load(asked[0]["id"]), await bench.stored()
    release.set()
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"
    assert "TOOL_CALL_RESULT" not in reader.kinds
    after = await bench.load(asked[0]["id"]), await bench.stored()
    assert after == before
    assert after[0].interrupts[asked[0]["id"]].status is InterruptStatus.INDETERMINATE
    unknown = [m.message["content"] for m in before[0].messages if m.message["role"] == "tool"]
    assert len(unknown) == 1 and "unknown" in unknown[0]


async def test_an_owner_that_is_fenced_by_the_store_alone_ends_as_indeterminate() -> None:
    clock = FakeClock()
    release = asyncio.Event()

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await release.wait()

    bench, _ = two_processes(clock, Scripted(slow), Scripted(["x"]))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    await settle()
    # Recovered by somebody whose clock says so, while this process trusts its lease.
    store = bench.store
    assert isinstance(store, MemoryStore)
    store._now = lambda: clock.time() + 1000
    assert await sweep(store, lambda: "w") == 1
    release.set()
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"
    record = (await bench.load()).record
    assert record is not None and record.ended is not None
    assert record.ended.outcome == "lost"


async def test_an_agent_that_checks_its_lease_stops_before_its_next_step() -> None:
    clock = FakeClock()
    release = asyncio.Event()
    stepped: list[str] = []

    async def careful(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await release.wait()
        run.check_lease()
        stepped.append("acted")

    bench, _ = two_processes(clock, Scripted(careful), Scripted(["x"]))
    reader = bench.begin("go")
    await reader.until("TEXT_MESSAGE_CONTENT")
    clock._elapsed += 28
    release.set()
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"
    assert stepped == []


async def test_the_lease_check_raises_only_once_the_lease_is_over() -> None:
    clock = FakeClock()
    checks: list[object] = []

    async def script(run: Run) -> AsyncIterator[RunItem]:
        run.check_lease()
        clock._elapsed += 26.9
        run.check_lease()
        clock._elapsed += 0.2
        with pytest.raises(Fenced):
            run.check_lease()
        checks.append("over")
        yield "x"

    bench, _ = two_processes(clock, Scripted(script), Scripted(["x"]))
    await bench.say("go")
    assert checks == ["over"]


async def test_a_run_whose_process_is_gone_is_recovered_by_the_next_input() -> None:
    clock = FakeClock()

    async def dies(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("c1"):
            yield item
        await asyncio.Event().wait()

    second = Scripted(["next"])
    bench, other = two_processes(clock, Scripted(dies), second)
    reader = bench.begin("go")
    await reader.until("TOOL_CALL_END")
    await pass_time(clock, 1)
    clock._elapsed += 100
    events = await other.say("more")
    assert outcome(events) == "success"
    assert [m.role for m in second.runs[0].messages] == ["user", "assistant", "tool", "user"]
    assert "unknown" in str(second.runs[0].messages[2].content)
    await settle()
    bench.engine.running.clear()


async def test_the_answer_of_a_lost_run_is_told_as_indeterminate_and_the_adapter_is_told() -> None:
    clock = FakeClock()

    async def dies(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await asyncio.Event().wait()

    second = Scripted(["next"], ["after"])
    first = Scripted([Pause([approval()], {"native": 7})], dies)
    bench, other = two_processes(clock, first, second)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TEXT_MESSAGE_CONTENT")
    clock._elapsed += 100
    again = await other.say(resume=bench.entries(asked))
    assert outcome(again) == "RUN_INDETERMINATE"
    assert "RUN_FINISHED" in [e["type"] for e in again]
    assert second.runs == []
    await other.say("more")
    [closed] = second.runs[0].closed
    assert (closed.cause, closed.continuation) == ("lost", {"native": 7})
    await other.say("and more")
    assert list(second.runs[1].closed) == []
    assert (await bench.load()).status is ThreadStatus.IDLE


async def test_a_result_that_was_stored_keeps_its_status_when_the_run_is_lost_later() -> None:
    clock = FakeClock()

    async def dies(run: Run) -> AsyncIterator[RunItem]:
        yield result("c1", "sent")
        await asyncio.Event().wait()

    asks = [approval("c1"), approval("c2")]
    bench, other = two_processes(clock, Scripted([Pause(asks)], dies), Scripted(["x"]))
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("TOOL_CALL_RESULT")
    clock._elapsed += 100
    await other.say("more")
    rows = (await bench.load(asked[0]["id"])).interrupts
    assert [rows[i["id"]].status for i in asked] == ["resolved", "indeterminate"]
    contents = [c for r, c in await bench.texts() if r == "tool"]
    assert contents[0] == "sent" and "unknown" in contents[1]
