"""Work that outlasts its run: who looks after it, and what becomes of what it asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agui_bridge.adapters import AdapterCapabilities, Pause, Run, RunItem
from agui_bridge.engine.engine import mint
from agui_bridge.engine.recovery import sweep
from agui_bridge.errors import Refused
from agui_bridge.protocol.answers.decisions import Approve
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import InterruptStatus, Principal, ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.engine.run.hooked import HookedStore
from tests.support.agents import Bench, approval, outcome, pass_time, result, settle
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


@dataclass
class Framework:
    """Work beside the runs: one task, which may come to ask whether a call may run."""

    asks: bool = False
    executed: list[str] = field(default_factory=list)
    looks: list[Any] = field(default_factory=list)
    fails: bool = False
    at_look: asyncio.Event | None = None


class Leaving:
    """An adapter whose every message begins such a task, and that ends at once."""

    def __init__(self, framework: Framework, *, looks: bool = True) -> None:
        self.capabilities = AdapterCapabilities(looks=looks)
        self.framework = framework
        self.runs: list[Run] = []

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        self.runs.append(run)
        if run.looks:
            assert run.left == {"task": 1}
            assert run.new_messages == []
            if self.framework.asks:
                yield Pause([approval("c1")], {"task": 1})
            return
        if run.resume is not None:
            decision = run.resume.decisions["native-c1"]
            if isinstance(decision, Approve):
                self.framework.executed.append("c1")
                yield result("c1", "done")
            self.framework.asks = False
            run.left = None
            return
        run.left = None if run.text == "nothing" else {"task": 1}
        yield f"I have begun with {run.text}."
        if run.text in ("slow", "nothing"):
            await asyncio.Event().wait()

    async def look(self, left: Any) -> bool:
        self.framework.looks.append(left)
        if self.framework.at_look is not None:
            await self.framework.at_look.wait()
        if self.framework.fails:
            raise ConnectionError("no such server")
        return self.framework.asks

    async def aclose(self) -> None:
        pass


def benches(
    number: int = 1, *, looks: bool = True, **settings: Any
) -> tuple[list[Bench], Framework, FakeClock]:
    clock, framework = FakeClock(), Framework()
    store = MemoryStore(clock.time)
    made = [
        Bench(Leaving(framework, looks=looks), store=store, clock=clock, **settings)
        for _ in range(number)
    ]
    return made, framework, clock


async def look_around(*made: Bench) -> None:
    """Have the sweepers of processes look at once, and see through what they find."""
    await asyncio.gather(*(sweep(b.engine.store, mint, b.engine.looks.take) for b in made))
    for bench in made:
        await settle()
        await asyncio.gather(*bench.engine._tasks)


async def test_what_the_work_asks_is_a_question_of_the_idle_thread_answered_as_any_other() -> None:
    (bench,), framework, clock = benches()
    assert outcome(await bench.say("one", actor="bob")) == "success"
    framework.asks = True
    clock.advance(1.0)

    await look_around(bench)

    loaded = await bench.load()
    assert loaded.status is ThreadStatus.INTERRUPTED
    (ask,) = loaded.asks
    assert (ask.tool_call and ask.tool_call.name, ask.asked_by) == ("send", "bob")
    answer = [{"interruptId": ask.id, "status": "resolved", "payload": {"approved": True}}]
    told = await asyncio.gather(*(bench.say(resume=answer) for _ in range(4)))
    assert {outcome(events) for events in told} == {"success"}
    assert framework.executed == ["c1"]
    after = await bench.load()
    assert after.record is not None
    assert after.record.watch is None


async def test_of_several_processes_one_looks_and_one_run_asks() -> None:
    made, framework, clock = benches(3)
    await made[0].say("one")
    framework.asks = True
    clock.advance(1.0)

    await look_around(*made, *made)

    assert framework.looks == [{"task": 1}]
    adapters: list[Any] = [bench.adapter for bench in made]
    assert sum(run.looks for adapter in adapters for run in adapter.runs) == 1
    assert len((await made[0].load()).asks) == 1


@pytest.mark.soak
async def test_another_process_goes_on_after_one_that_died_while_it_looked() -> None:
    (first, second), framework, clock = benches(2)
    await first.say("one")
    framework.asks, framework.at_look = True, asyncio.Event()
    clock.advance(1.0)
    await sweep(first.engine.store, mint, first.engine.looks.take)
    await settle()
    await first.engine.aclose()
    framework.at_look = None

    await look_around(second)
    assert len(framework.looks) == 1, "its look is claimed"
    clock.advance(1.0)
    await look_around(second)

    assert len((await second.load()).asks) == 1


async def test_a_look_waits_for_a_run_and_for_an_open_question() -> None:
    (bench,), framework, clock = benches()
    await bench.say("one")
    framework.asks, framework.at_look = True, asyncio.Event()
    clock.advance(1.0)
    await sweep(bench.store, mint, bench.engine.looks.take)
    await settle()
    # Meanwhile somebody writes, and that run leaves its own question open.
    framework.at_look.set()
    before, framework.at_look = len(framework.looks), None
    told = await bench.say("two")
    assert outcome(told) in ("success", "RUN_IN_PROGRESS")
    await settle()
    loaded = await bench.load()
    assert before == 1
    if loaded.status is ThreadStatus.IDLE:
        clock.advance(60.0)
        await look_around(bench)
    (ask,) = (await bench.load()).asks

    clock.advance(3600.0)
    await look_around(bench)

    assert [one.id for one in (await bench.load()).asks] == [ask.id]
    assert outcome(await bench.say("three")) == "INTERRUPT_PENDING"


@pytest.mark.parametrize("how", ["stop", "stop of the question", "delete"])
async def test_nobody_looks_after_a_stop(how: str) -> None:
    (bench,), framework, clock = benches()
    await bench.say("one")
    framework.asks = True
    clock.advance(1.0)
    if how == "stop of the question":
        await look_around(bench)
    if how == "delete":
        await bench.engine.delete(bench.KEY)
    else:
        stopped = await bench.engine.stop(bench.KEY, principal=Principal("default", "ann"))
        assert stopped.status == "success"
    before = len(framework.looks)

    for _ in range(5):
        clock.advance(600.0)
        await look_around(bench)

    assert len(framework.looks) == before
    assert (await bench.load()).asks == ()


@pytest.mark.parametrize(
    ("how", "is_left"), [("stop", False), ("force", False), ("gone", True), ("shutdown", True)]
)
async def test_a_run_that_is_cut_off_leaves_its_work_unless_somebody_stopped_it(
    how: str, is_left: bool
) -> None:
    (bench, other), framework, clock = benches(2, shutdown_grace=0.0)
    reader = bench.begin("slow", disconnect="stop")
    await settle()
    if how == "gone":
        reader.pipe.detach()
        await settle()
    elif how == "shutdown":
        await bench.engine.aclose()
    else:
        stopped = await bench.engine.stop(bench.KEY, force=how == "force")
        assert stopped.status == "success"
    await eventually(is_idle(other))

    framework.asks = True
    clock.advance(60.0)
    await look_around(other)

    assert len(framework.looks) == is_left
    assert len((await other.load()).asks) == is_left


@pytest.mark.parametrize("text", ["slow", "nothing"])
async def test_a_lost_run_adds_to_what_was_left_and_takes_nothing_away(text: str) -> None:
    (lost, other), framework, clock = benches(2)
    if text == "nothing":
        await lost.say("one")
    reader = lost.begin(text)
    await reader.until("TEXT_MESSAGE_CONTENT")
    clock.advance(other.settings.lease_seconds + 1.0)

    framework.asks = True
    await look_around(other)
    await look_around(other)

    assert framework.looks == [{"task": 1}]
    assert len((await other.load()).asks) == 1
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"


async def test_a_note_that_the_store_does_not_take_fails_no_run_and_comes_with_its_end() -> None:
    clock, framework, failed = FakeClock(), Framework(), []
    store = HookedStore(clock.time)
    bench = Bench(Leaving(framework), store=store, clock=clock, store_retry=1.0)

    def notes(change: Change) -> bool:
        failed.append(change.record.watch is not None and change.record.run is not None)
        return failed[-1]

    store.fail(notes, times=1000, written=False)
    reader = bench.begin("one")
    await settle()
    await pass_time(clock, 3.0)

    assert outcome(await reader.rest()) == "success"
    assert any(failed)
    record = (await bench.load()).record
    assert record is not None and record.watch is not None
    assert record.watch.note == {"task": 1}


def is_idle(bench: Bench) -> Callable[[], Awaitable[bool]]:
    """Whether its thread does nothing."""

    async def idle() -> bool:
        return (await bench.load()).status is ThreadStatus.IDLE

    return idle


@pytest.mark.soak
async def test_looks_become_rarer_and_end_after_a_day(caplog: pytest.LogCaptureFixture) -> None:
    (bench,), framework, clock = benches()
    await bench.say("one")
    framework.fails = True  # A look that fails is taken again like one that finds nothing.

    for _ in range(60):
        clock.advance(1.0)
        await look_around(bench)
    in_a_minute = len(framework.looks)
    for _ in range(24 * 60):
        clock.advance(60.0)
        with caplog.at_level(logging.WARNING):
            await look_around(bench)

    assert 5 <= in_a_minute <= 7
    assert len(framework.looks) <= 24 * 60 + in_a_minute
    assert "nobody looks any more" in caplog.text
    clock.advance(60.0)
    seen = len(framework.looks)
    await look_around(bench)
    assert len(framework.looks) == seen


async def test_an_answer_that_says_no_executes_nothing() -> None:
    (bench,), framework, clock = benches()
    await bench.say("one")
    framework.asks = True
    clock.advance(1.0)
    await look_around(bench)
    (ask,) = (await bench.load()).asks

    answer = {"interruptId": ask.id, "status": "resolved", "payload": {"approved": False}}
    assert outcome(await bench.say(resume=[answer])) == "success"

    assert framework.executed == []
    row = (await bench.load(ask.id)).interrupts[ask.id]
    assert row.status is InterruptStatus.RESOLVED


async def test_an_adapter_that_can_not_look_leaves_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (bench,), framework, clock = benches(looks=False)
    await bench.say("one")
    clock.advance(60.0)
    await look_around(bench)

    assert "nobody looks after the work" in caplog.text
    assert framework.looks == []
    loaded = await bench.load()
    assert loaded.record is not None
    assert loaded.record.watch is None


async def test_the_sweeper_of_a_server_looks_by_itself() -> None:
    (bench,), framework, clock = benches(sweep_interval=5.0)
    async with bench.open():
        await bench.say("one")
        framework.asks = True
        await pass_time(clock, 6.0)

        assert len((await bench.load()).asks) == 1


async def test_a_full_scope_is_asked_later(caplog: pytest.LogCaptureFixture) -> None:
    (bench,), framework, clock = benches()
    await bench.say("one")
    framework.asks = True
    clock.advance(1.0)

    def full(submission: object) -> Any:
        raise Refused("TOO_MANY_RUNS", "The scope has too many runs.")

    bench.engine.looks._submit = full
    await look_around(bench)
    assert (await bench.load()).asks == ()
    bench.engine.looks._submit = bench.engine.submit
    clock.advance(1.0)
    await look_around(bench)

    assert len((await bench.load()).asks) == 1
