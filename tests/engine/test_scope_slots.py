"""Runs are counted by scope, from their input to their end, and every way out frees the slot."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.fairness import ScopeSlots
from agui_bridge.engine.input.submission import Submission
from agui_bridge.errors import Refused, StoreUnavailable
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal
from tests.engine.run.hooked import HookedStore
from tests.support.agents import Answering, Bench, Scripted, eventually, outcome, settle
from tests.support.server import run_input


async def forever(run: Run) -> AsyncIterator[RunItem]:
    yield "so far"
    await asyncio.Event().wait()


def other(bench: Bench, thread: str = "u", scope: str = "default") -> Submission:
    """An input for another thread, or another scope's."""
    return Submission(
        bench.agent, Principal(scope, "bob"), parse_input(run_input("hi", thread=thread))
    )


def refused(bench: Bench, thread: str = "u") -> bool:
    """Whether one more run of the scope is refused."""
    try:
        pipe, _ = bench.engine.submit(other(bench, thread))
    except Refused as error:
        assert error.code == "TOO_MANY_RUNS" and "max_runs_per_scope" in error.message
        return True
    pipe.detach()
    return False


def test_slots_are_counted_by_scope_and_an_empty_scope_takes_no_memory() -> None:
    slots = ScopeSlots(2, "runs")
    for scope in ("a", "a", "b"):
        slots.take(scope)
    with pytest.raises(Refused, match="3 at once; at most 2"), slots.hold("a"):
        pass
    assert (slots.taken("a"), slots.taken("b")) == (2, 1)
    for scope in ("a", "a", "b"):
        slots.free(scope)
    assert slots.taken("a") == 0 and not vars(slots)["_taken"]


async def test_another_scope_is_not_held_up() -> None:
    bench = Bench(Scripted(forever), max_runs_per_scope=1)
    await bench.begin("go").until("TEXT_MESSAGE_CONTENT")
    assert refused(bench)
    pipe, _ = bench.engine.submit(other(bench, scope="theirs"))
    assert b"RUN_STARTED" in await pipe.read()
    pipe.detach()
    for scope in ("default", "theirs"):
        await bench.engine.stop(other(bench, "t", scope).key, force=True)


async def test_an_input_that_waits_for_another_run_counts_too() -> None:
    bench = Bench(Answering(), max_runs_per_scope=2)
    entries = bench.entries(await bench.ask())
    finish = asyncio.Event()
    bench.adapter = bench.agent.adapter

    async def slow(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await finish.wait()

    bench.adapter._scripts = [slow]  # type: ignore[attr-defined]  # the next run is a slow one
    first = bench.begin(resume=entries)
    await first.until("TEXT_MESSAGE_CONTENT")
    joiner = bench.begin(resume=entries)
    await joiner.until("RUN_STARTED")
    assert refused(bench)
    joiner.leave()
    await settle()
    assert not refused(bench)
    finish.set()
    await first.rest()


async def test_a_refused_answer_is_kept_by_nobody_and_can_be_sent_again() -> None:
    bench = Bench(Answering(), max_runs_per_scope=1)
    entries = bench.entries(await bench.ask())
    await settle()
    before = (await bench.load()).record
    bench.engine._slots.take("default")
    with pytest.raises(Refused):
        bench.begin(resume=entries)
    assert (await bench.load()).record == before
    bench.engine._slots.free("default")
    await settle()
    assert outcome(await bench.say(resume=entries)) == "success"


async def test_a_stop_comes_through_when_every_slot_is_taken_and_stops_are_bounded_too() -> None:
    bench = Bench(Scripted(forever, ["next"]), max_runs_per_scope=1)
    await bench.begin("go").until("TEXT_MESSAGE_CONTENT")
    with bench.engine._stop_slots.hold("default"), pytest.raises(Refused, match="stops of this"):
        await bench.engine.stop(bench.KEY)
    assert (await bench.engine.stop(bench.KEY, force=True)).status == "success"
    await settle()
    assert not refused(bench)


async def test_every_way_out_frees_the_slot() -> None:
    store = HookedStore()
    bench = Bench(
        Scripted([RuntimeError("no")], ["fine"]), store=store, max_runs_per_scope=1, store_retry=0.0
    )
    taken = bench.engine._slots

    assert outcome(await bench.say("fails")) == "AGENT_ERROR"
    await settle()
    assert taken.taken("default") == 0, "a failure"

    entries = [{"interruptId": "none", "status": "cancelled"}]
    assert outcome(await bench.say(resume=entries)) == "INTERRUPT_NOT_FOUND"
    await settle()
    assert taken.taken("default") == 0, "a refusal"

    store.down = True
    with pytest.raises(StoreUnavailable):
        await bench.begin("no store").rest()
    store.down = False
    await settle()
    assert taken.taken("default") == 0, "a store that is down"

    assert outcome(await bench.say("works")) == "success"
    await settle()
    assert taken.taken("default") == 0, "an end"


async def test_a_client_that_goes_away_frees_the_slot_when_its_run_has_ended() -> None:
    bench = Bench(Scripted(forever), max_runs_per_scope=1)
    reader = bench.begin("go", disconnect="stop")
    await reader.until("TEXT_MESSAGE_CONTENT")
    reader.leave()
    await eventually(lambda: not bench.engine._slots.taken("default"))


async def test_a_run_that_is_cancelled_before_its_first_step_frees_the_slot() -> None:
    bench = Bench(Scripted(["x"]), max_runs_per_scope=1)
    bench.begin("go")
    for task in bench.engine._tasks:
        task.cancel()
    await settle()
    assert bench.engine._slots.taken("default") == 0


async def test_a_shutdown_frees_every_slot() -> None:
    bench = Bench(Scripted(forever), shutdown_grace=0.0, max_runs_per_scope=1)
    async with bench.open():
        await bench.begin("go").until("TEXT_MESSAGE_CONTENT")
    await settle()
    assert bench.engine._slots.taken("default") == 0
