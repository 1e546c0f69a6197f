"""What is in the store when, and what is on the wire when."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import StateDeltaEvent, StateSnapshotEvent

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from tests.engine.run.hooked import HookedStore, claims, ends, settles
from tests.support.agents import (
    Answering,
    Bench,
    Reader,
    Scripted,
    approval,
    call_events,
    outcome,
    pass_time,
    result,
    settle,
    text_events,
)
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


class Holding:
    """Holds the commits of a kind up until they are let go."""

    def __init__(self, store: HookedStore, kind: Any) -> None:
        self.reached, self.go, self.kind = asyncio.Event(), asyncio.Event(), kind
        store.before = self

    async def __call__(self, change: Change) -> None:
        if self.kind(change):
            self.reached.set()
            await self.go.wait()


async def read_for_a_while(reader: Reader) -> None:
    """Read what comes without a commit's end."""
    reading = asyncio.create_task(reader.rest())
    await settle(200)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)


async def test_the_user_message_is_stored_with_the_claim_and_before_the_adapter_runs() -> None:
    seen: list[Any] = []

    async def script(run: Run) -> AsyncIterator[RunItem]:
        seen.extend(await bench.texts())
        yield "x"

    bench = Bench(Scripted(script))
    await bench.say("hi")
    assert seen == [("user", "hi")]


async def test_nothing_is_sent_and_nothing_runs_before_the_claim_is_stored() -> None:
    store, agent = HookedStore(), Scripted(["x"])
    hold = Holding(store, claims)
    reader = Bench(agent, store=store).begin("hi")
    await eventually(hold.reached.is_set)
    await read_for_a_while(reader)
    assert (reader.events, agent.runs) == ([], [])
    hold.go.set()
    assert outcome(await reader.rest()) == "success"


@pytest.mark.parametrize(
    "script, last",
    [
        (["x"], "RUN_FINISHED"),
        (["x", Pause([approval()])], "RUN_FINISHED"),
        (["x", ValueError("no")], "RUN_ERROR"),
    ],
    ids=["success", "interrupt", "error"],
)
async def test_a_terminal_event_goes_out_after_its_commit(script: list[Any], last: str) -> None:
    store = HookedStore()
    hold = Holding(store, ends)
    reader = Bench(Scripted(script), store=store).begin("hi")
    await eventually(hold.reached.is_set)
    await read_for_a_while(reader)
    assert reader.kinds[-1] != last and "MESSAGES_SNAPSHOT" not in reader.kinds
    hold.go.set()
    await reader.rest()
    assert reader.kinds[-1] == last


async def test_the_result_of_a_gated_call_is_stored_before_it_is_sent() -> None:
    store, agent = HookedStore(), Answering()
    bench = Bench(agent, store=store)
    asked = await bench.ask()
    hold = Holding(store, settles)
    reader = bench.begin(resume=bench.entries(asked))
    await eventually(hold.reached.is_set)
    await read_for_a_while(reader)
    assert agent.executed and "TOOL_CALL_RESULT" not in reader.kinds
    hold.go.set()
    await reader.until("TOOL_CALL_RESULT")
    loaded = await bench.load(asked[0]["id"])
    assert loaded.interrupts[asked[0]["id"]].status is InterruptStatus.RESOLVED
    assert outcome(await reader.rest()) == "success"


async def test_the_refusal_of_a_gated_call_is_stored_before_it_is_sent() -> None:
    store = HookedStore()
    bench = Bench(Answering(), store=store)
    asked = await bench.ask()
    hold = Holding(store, settles)
    reader = bench.begin(resume=bench.entries(asked, {"approved": False}))
    await eventually(hold.reached.is_set)
    await read_for_a_while(reader)
    assert "TOOL_CALL_RESULT" not in reader.kinds
    hold.go.set()
    await reader.until("TOOL_CALL_RESULT")
    await reader.rest()


async def test_other_finished_messages_lag_by_the_flush_interval_at_most() -> None:
    clock = FakeClock()
    store = HookedStore(clock.time)
    wait = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for item in text_events("m1", "finished"):
            yield item
        for item in text_events("m2", "half", end=False):
            yield item
        await wait.wait()

    bench = Bench(Scripted(script), store=store, clock=clock, flush_interval=0.5)
    reader = bench.begin("hi")
    await reader.until("TEXT_MESSAGE_END")
    await settle()
    assert [c for _, c in await bench.texts()] == ["hi"]
    await pass_time(clock, 0.5)
    assert [c for _, c in await bench.texts()] == ["hi", "finished"]
    wait.set()
    await reader.rest()
    assert [c for _, c in await bench.texts()] == ["hi", "finished", "half"]


async def test_what_ends_a_long_silence_lags_no_more_than_anything_else() -> None:
    clock = FakeClock()
    speak, wait = asyncio.Event(), asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        await speak.wait()
        for item in text_events("m1", "at last"):
            yield item
        await wait.wait()

    bench = Bench(Scripted(script), store=HookedStore(clock.time), clock=clock, flush_interval=0.5)
    reader = bench.begin("hi")
    await reader.until("RUN_STARTED")
    for _ in range(9):
        # Runs are all looked at every 2.5 s: it is not one of those looks that finds it.
        await pass_time(clock, 0.5)
    speak.set()
    await reader.until("TEXT_MESSAGE_END")
    await pass_time(clock, 0.5)
    assert [c for _, c in await bench.texts()] == ["hi", "at last"]
    wait.set()
    await reader.rest()


async def test_a_quiet_run_writes_nothing_but_renewals() -> None:
    clock = FakeClock()
    store = HookedStore(clock.time)
    wait = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        await wait.wait()
        yield "x"

    bench = Bench(Scripted(script), store=store, clock=clock, lease_seconds=30.0)
    reader = bench.begin("hi")
    await reader.until("RUN_STARTED")
    await pass_time(clock, 60)
    assert len(store.commits) == 1
    assert 4 <= len(store.renewals) <= 6
    wait.set()
    assert outcome(await reader.rest()) == "success"


async def test_snapshots_come_before_an_interrupt_and_hold_the_calls() -> None:
    bench = Bench(Scripted(["Now? ", Pause([approval()])]))
    events = await bench.say("go", state={"a": 1})
    kinds = [e["type"] for e in events]
    assert kinds[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert events[-3]["snapshot"] == {"a": 1}
    messages = events[-2]["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"]
    [call] = messages[-1]["toolCalls"]
    assert (call["id"], call["function"]["name"]) == ("c1", "send")
    assert kinds.count("TOOL_CALL_START") == 1


async def test_a_resumed_run_has_snapshots_first_and_before_its_end_and_no_second_call() -> None:
    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        for item in call_events("c1", "send", '{"to":"c1"}'):
            yield item
        yield result("c1", "sent")
        yield "Done."

    bench = Bench(Scripted([Pause([approval()])], resumed))
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked))
    kinds = [e["type"] for e in events]
    assert kinds[:3] == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    assert kinds[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert "TOOL_CALL_START" not in kinds
    assert [e["toolCallId"] for e in events if e["type"] == "TOOL_CALL_RESULT"] == ["c1"]


async def test_a_resumed_run_that_fails_has_snapshots_before_its_end_too() -> None:
    bench = Bench(Scripted([Pause([approval()])], ["x", ValueError("no")]))
    events = await bench.say(resume=bench.entries(await bench.ask()))
    kinds = [e["type"] for e in events]
    assert kinds[-3:] == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_ERROR"]


async def test_the_first_state_delta_of_a_run_comes_after_the_state_that_it_fits() -> None:
    def step(value: int) -> StateDeltaEvent:
        return StateDeltaEvent(delta=[{"op": "replace", "path": "/n", "value": value}])

    bench = Bench(Scripted([step(1), step(2)]))
    events = await bench.say("go", state={"n": 0})
    assert [e.get("snapshot", e.get("delta")) for e in events if "STATE" in e["type"]] == [
        {"n": 0},
        [{"op": "replace", "path": "/n", "value": 1}],
        [{"op": "replace", "path": "/n", "value": 2}],
    ]
    loaded = await bench.load()
    assert loaded.record is not None and loaded.record.state == {"n": 2}


async def test_a_delta_after_the_agents_own_snapshot_needs_no_other() -> None:
    items = [
        StateSnapshotEvent(snapshot={"n": 0}),
        StateDeltaEvent(delta=[{"op": "replace", "path": "/n", "value": 1}]),
    ]
    events = await Bench(Scripted(items)).say("go")
    assert [e["type"] for e in events].count("STATE_SNAPSHOT") == 1


async def test_input_state_replaces_the_stored_one_and_absent_keeps_it() -> None:
    agent = Scripted(["x"])
    bench = Bench(agent)
    await bench.say("one", state={"a": 1})
    await bench.say("two")
    await bench.say("three", state=None)
    await bench.say("four", state={"b": 2})
    await bench.say("five", state=[])
    assert [run.state for run in agent.runs] == [{"a": 1}, {"a": 1}, {"a": 1}, {"b": 2}, []]


async def test_state_reaches_the_store_behind_a_running_run() -> None:
    clock = FakeClock()
    wait = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield StateSnapshotEvent(snapshot={"n": 1})
        await wait.wait()

    bench = Bench(Scripted(script), store=HookedStore(clock.time), clock=clock)
    reader = bench.begin("hi")
    await reader.until("STATE_SNAPSHOT")
    await pass_time(clock, 1)
    record = (await bench.load()).record
    assert record is not None and record.state == {"n": 1}
    assert record.status is ThreadStatus.RUNNING
    wait.set()
    await reader.rest()


async def test_a_pause_of_a_run_that_has_paused_before_keeps_one_call_and_two_audits() -> None:
    second = Scripted([Pause([approval()])], [Pause([approval()])], [result("c1"), "end"])
    bench = Bench(second)
    first = await bench.ask()
    events = await bench.say(resume=bench.entries(first))
    assert outcome(events) == "interrupt"
    assert "TOOL_CALL_START" not in [e["type"] for e in events]
    asked = events[-1]["outcome"]["interrupts"]
    assert asked[0]["id"] != first[0]["id"]
    assert outcome(await bench.say(resume=bench.entries(asked))) == "success"


@pytest.mark.parametrize(
    "reason, schema",
    [
        (
            "confirmation",
            {
                "type": "object",
                "required": ["confirm"],
                "properties": {"confirm": {"type": "boolean"}},
            },
        ),
        ("input_required", None),
        ("acme:vote", None),
    ],
)
async def test_a_question_without_a_schema_has_that_of_its_reason(
    reason: str, schema: dict[str, Any] | None
) -> None:
    bench = Bench(Scripted([Pause([Ask("n", reason)])], ["end"]))
    [asked] = await bench.ask()
    assert asked.get("responseSchema") == schema
    payload = {"confirm": False} if schema else 0
    assert outcome(await bench.say(resume=bench.entries([asked], payload))) == "success"
    assert bench.adapter.runs[-1].resume.decisions["n"].payload == payload  # type: ignore[attr-defined]  # the scripted adapter keeps them
