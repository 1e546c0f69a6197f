"""Pauses that are held: the agent's side waits in one process, and anybody answers in any."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agui_bridge.adapters import AdapterCapabilities, Pause, Run
from agui_bridge.engine.engine import mint
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.engine.recovery import sweep
from agui_bridge.engine.run import run_end
from agui_bridge.errors import NotReplicated
from agui_bridge.frozen import replace
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.reference import Reference
from agui_bridge.mcp_server.standing import standing_of
from agui_bridge.protocol.contract.transitions import moved
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    Principal,
    RecordedAnswer,
    ThreadStatus,
)
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import (
    Bench,
    Reader,
    Scripted,
    approval,
    eventually,
    outcome,
    pass_time,
    settle,
)
from tests.support.clock import FakeClock
from tests.support.holding import Holding, Outside

YES = {"approved": True}


class Processes:
    """Some processes on one store, whose time is the test's."""

    def __init__(self, number: int = 2, *, calls: tuple[str, ...] = (), **given: Any) -> None:
        self.clock = FakeClock()
        self.outside = Outside()
        store = MemoryStore(self.clock.time)
        ask = {name: given.pop(name) for name in ("expires_in",) if name in given}
        self.agents = [Holding(self.outside, calls, **ask) for _ in range(number)]
        self.benches = [Bench(a, store=store, clock=self.clock, **given) for a in self.agents]

    async def ask(self) -> tuple[Bench, Bench, list[dict[str, Any]]]:
        """Have the first process ask; the first two, and what is asked."""
        holder, other = self.benches[:2]
        return holder, other, await holder.ask()

    async def sweep(self, bench: Bench) -> None:
        """Have the sweeper of a process look, and see through what it begins."""
        await sweep(bench.engine.store, mint, bench.engine.looks.take)
        await settle()

    async def kill(self, bench: Bench) -> None:
        """End a process without a word."""
        for held in bench.engine.holds._held.values():
            assert held.watching is not None
            held.watching.cancel()
        bench.engine.holds._held.clear()
        if bench.engine.holds._renewing is not None:
            bench.engine.holds._renewing.cancel()
        await settle()


async def test_an_answer_at_the_holder_is_given_to_what_waits_there() -> None:
    world = Processes()
    holder, _, asked = await world.ask()

    assert outcome(await holder.say(resume=holder.entries(asked))) == "success"

    assert (world.outside.acts, world.outside.loaded, world.outside.ends) == (["c1"], 0, [])
    assert world.agents[0].told == [True]
    assert len(holder.engine.holds) == 0


async def test_an_answer_at_another_process_is_carried_out_by_the_holder() -> None:
    world = Processes()
    _, other, asked = await world.ask()

    events = await other.say(resume=other.entries(asked))

    assert outcome(events) == "success"
    assert "Finished." in str(events[-2]["messages"])
    assert (world.outside.acts, world.outside.loaded) == (["c1"], 0)
    assert [agent.told for agent in world.agents] == [[True], []]
    (ask,) = (await other.load(asked[0]["id"])).interrupts.values()
    told = [(entry.status, entry.via) for entry in ask.changes]
    # Nobody sent the input that claimed it.
    assert told[1:] == [("answered", "agui"), ("claimed", "rule"), ("resolved", None)]


async def test_a_decline_at_another_process_ends_the_turn_there_too() -> None:
    world = Processes()
    _, other, asked = await world.ask()

    events = await other.say(resume=other.entries(asked, {"approved": False}))

    assert outcome(events) == "success"
    assert (world.outside.acts, world.agents[0].told) == ([], [True])


async def test_five_answers_at_once_are_carried_out_once() -> None:
    world = Processes(3)
    _, _, asked = await world.ask()
    entries = Bench.entries(asked)

    ends = await asyncio.gather(
        *(bench.say(resume=entries) for bench in (*world.benches, *world.benches[1:]))
    )

    assert {outcome(events) for events in ends} == {"success"}
    assert (world.outside.acts, world.outside.loaded) == (["c1"], 0)


async def test_another_answer_than_the_one_that_waits_for_the_holder_is_refused() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    first = other.begin(resume=other.entries(asked))
    await first.until("RUN_STARTED")
    await settle()

    refused = await other.say(resume=other.entries(asked, {"approved": False}))

    assert outcome(refused) == "INTERRUPT_ALREADY_ANSWERED"
    assert world.outside.acts == []
    first.leave()


async def test_several_questions_are_answered_at_several_processes() -> None:
    world = Processes(calls=("c1", "c2"))
    _, other, asked = await world.ask()
    singly: dict[str, Any] = {"forwardedProps": {"command": {"resume": {}}}}
    del singly
    first, second = other.entries(asked)

    events = await other.say(resume=[first, second])

    assert outcome(events) == "success"
    assert (sorted(world.outside.acts), world.agents[0].told) == (["c1", "c2"], [True])


async def test_an_answer_outlives_the_holder_which_dies_before_it_claims() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    answering = other.begin(resume=other.entries(asked))
    await answering.until("RUN_STARTED")
    await settle()
    (ask,) = (await other.load()).asks
    assert ask.status is InterruptStatus.ANSWERED
    answering.leave()
    await world.sweep(other)
    assert world.outside.acts == []

    world.clock.advance(other.settings.lease_seconds)
    await world.sweep(other)

    await eventually(lambda: world.outside.acts == ["c1"])
    assert (world.outside.loaded, world.agents[1].told) == (1, [False])
    await eventually(lambda: not other.engine.running)
    assert (await other.load()).status is ThreadStatus.IDLE


async def test_an_answer_whose_claim_is_given_back_is_carried_out_though_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Processes(store_retry=0.0)
    holder, other, asked = await world.ask()
    commit, claims, lost = holder.store.commit, asyncio.Event(), [NotReplicated("0 of 1")]

    async def lossy(key: Any, change: Any, *more: Any) -> Any:
        is_claim = change.record.status is ThreadStatus.RUNNING
        if is_claim:
            await claims.wait()
        done = await commit(key, change, *more)
        if is_claim and lost:
            raise lost.pop()
        return done

    monkeypatch.setattr(holder.store, "commit", lossy)
    answering = other.begin(resume=other.entries(asked))
    await answering.until("RUN_STARTED")
    await settle()
    answering.leave()
    await settle()
    claims.set()
    await eventually(lambda: not lost)
    await pass_time(world.clock, 2 * holder.settings.lease_seconds)
    await world.sweep(other)

    assert world.outside.acts == ["c1"]


async def test_who_answers_in_an_inbox_does_not_wait_for_a_holder_that_has_died() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    question, yes = Reference(other.KEY, asked[0]["id"]), RecordedAnswer("resolved", YES)
    bob, agents = Principal("default", "bob"), {"agent": other.agent}

    async with asyncio.timeout(10):
        came = await answer_question(other.engine, agents, question, yes, bob, wait=0.1)

    assert (came.status, came.code) == ("answered", None)
    world.clock.advance(other.settings.lease_seconds)
    await world.sweep(other)
    await eventually(lambda: world.outside.acts == ["c1"])


async def test_what_is_answered_and_waits_for_its_holder_is_told_as_at_work() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    answering = other.begin(resume=other.entries(asked))
    await answering.until("RUN_STARTED")
    await settle()
    answering.leave()

    assert (await standing_of(other.engine, other.KEY, None)).progress == "working"
    reader = Reader(*show_thread(other.engine, other.call(runId="mine")))
    await reader.until("MESSAGES_SNAPSHOT")
    await settle()
    assert "RUN_FINISHED" not in reader.kinds
    world.clock.advance(other.settings.lease_seconds)
    await world.sweep(other)

    assert "Finished." in str(await reader.rest())


async def approved_by_rule(store: Any, key: Any, asks: Any, now: float) -> Any:
    """As if all questions were answered by remembered decisions."""
    yes = RecordedAnswer("resolved", YES)
    answered = InterruptStatus.ANSWERED
    return tuple(moved(replace(a, answer=yes), answered, now, "rule:1", "rule") for a in asks)


async def test_a_pause_that_nobody_has_to_answer_goes_on_in_its_own_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_end, "apply_grants", approved_by_rule)
    world = Processes(1)
    (bench,) = world.benches
    agent, kept, reads = world.agents[0], bench.engine.threads.kept, 0
    act, load = agent.run, kept.load

    async def slow(*given: Any) -> Any:
        nonlocal reads
        reads += 1
        await settle(60 if reads == 2 else 0)
        return await load(*given)

    async def works(run: Run) -> Any:
        await settle(100 if run.resume is not None else 0)
        async for item in act(run):
            yield item

    monkeypatch.setattr(kept, "load", slow)
    monkeypatch.setattr(agent, "run", works)

    assert outcome(await bench.say("go")) == "success"
    assert (world.outside.acts, agent.told) == (["c1"], [True])


async def test_a_pause_that_nobody_has_to_answer_is_gone_on_with_where_its_stream_could_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_end, "apply_grants", approved_by_rule)
    world = Processes(1)
    (bench,) = world.benches
    carry_out = bench.engine._carry_out

    async def once(submission: Any, *more: Any) -> Any:
        monkeypatch.setattr(bench.engine, "_carry_out", never)
        return await carry_out(submission, *more)

    async def never(*given: Any) -> None:
        monkeypatch.setattr(bench.engine, "_carry_out", carry_out)

    monkeypatch.setattr(bench.engine, "_carry_out", once)
    bench.begin("go").leave()
    await eventually(lambda: any(held.watching for held in bench.engine.holds._held.values()))
    world.clock.advance(15.0)

    await eventually(lambda: world.outside.acts == ["c1"])
    assert world.agents[0].told == [True]


async def test_who_waits_for_a_holder_that_has_died_goes_on_once_the_hold_is_over() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    answering = asyncio.create_task(other.say(resume=other.entries(asked)))
    await settle()
    world.clock.advance(other.settings.lease_seconds)

    assert outcome(await answering) == "success"
    assert (world.outside.acts, world.outside.loaded) == (["c1"], 1)


async def test_a_hold_is_renewed_and_no_version_changes() -> None:
    world = Processes()
    holder, _, _ = await world.ask()
    before = (await holder.load()).record
    assert before is not None
    await pass_time(world.clock, 3 * holder.settings.lease_seconds)
    now = await holder.load()
    assert now.hold is not None
    assert now.record is not None
    assert now.record.version == before.version
    await world.kill(holder)


async def test_a_hold_that_is_over_leaves_a_question_that_anybody_goes_on_from() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    await world.kill(holder)
    world.clock.advance(holder.settings.lease_seconds)
    await world.sweep(other)
    record = (await other.load()).record
    assert record is not None
    assert record.hold is None
    assert await other.store.due() == []

    assert outcome(await other.say(resume=other.entries(asked))) == "success"
    assert (world.outside.acts, world.agents[1].told) == (["c1"], [False])


@pytest.mark.parametrize("by", [0, 1])
async def test_a_stop_is_told_to_the_holder(by: int) -> None:
    world = Processes()
    holder, other, asked = await world.ask()

    stopped = await world.benches[by].engine.stop(holder.KEY)

    assert stopped.status == "success"
    await eventually(lambda: world.outside.ends == ["stopped"])
    late = await other.say(resume=other.entries(asked))
    assert outcome(late) == "INTERRUPT_ALREADY_ANSWERED"
    assert (world.outside.acts, world.agents[0].sides, len(holder.engine.holds)) == ([], {}, 0)


async def test_that_a_question_expires_is_told_to_the_holder() -> None:
    world = Processes(expires_in=10.0)
    _, other, asked = await world.ask()
    world.clock.advance(10.0)
    await world.sweep(other)

    await eventually(lambda: world.outside.ends == ["expired"])
    assert outcome(await other.say(resume=other.entries(asked))) == "INTERRUPT_EXPIRED"
    assert world.outside.acts == []


async def test_an_answer_that_somebody_claimed_after_the_hold_is_told_to_the_holder() -> None:
    world = Processes()
    holder, other, asked = await world.ask()
    renewing = holder.engine.holds._renewing
    assert renewing is not None
    renewing.cancel()
    world.clock.advance(holder.settings.lease_seconds)

    assert outcome(await other.say(resume=other.entries(asked))) == "success"

    await eventually(lambda: world.outside.ends == ["answered elsewhere"])
    assert (world.outside.acts, world.agents[1].told) == (["c1"], [False])


async def test_a_question_is_held_no_longer_than_the_setting_says() -> None:
    world = Processes(hold_seconds=60.0)
    _, other, asked = await world.ask()

    await pass_time(world.clock, 65.0)
    await eventually(lambda: world.outside.ends == ["let go"])

    assert outcome(await other.say(resume=other.entries(asked))) == "success"
    assert (world.outside.acts, world.agents[1].told) == (["c1"], [False])


async def test_of_too_many_questions_the_oldest_is_let_go() -> None:
    world = Processes(1, max_held=1)
    (bench,) = world.benches
    later = Bench(bench.adapter, store=bench.store, clock=world.clock, thread="u", max_held=1)
    later.engine.holds = bench.engine.holds
    first = await bench.ask()
    second = await later.ask()
    await eventually(lambda: world.outside.ends == ["let go"])

    assert outcome(await bench.say(resume=bench.entries(first))) == "success"
    assert outcome(await later.say(resume=later.entries(second))) == "success"
    assert world.agents[0].told == [False, True]


async def test_a_server_that_ends_lets_go_and_another_one_goes_on_at_once() -> None:
    world = Processes()
    holder, other, asked = await world.ask()

    await holder.engine.aclose()

    assert (world.outside.ends, world.agents[0].sides) == (["let go"], {})
    assert outcome(await other.say(resume=other.entries(asked))) == "success"
    assert (world.outside.acts, world.agents[1].told) == (["c1"], [False])


async def test_a_pause_that_is_let_go_while_it_is_stored_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = Processes()
    holder, other = world.benches
    commit = holder.store.commit

    async def meanwhile(key: Any, change: Any, *more: Any) -> Any:
        if change.record.hold is not None:
            await holder.engine.holds.let_go_all()
        return await commit(key, change, *more)

    with monkeypatch.context() as patch:
        patch.setattr(holder.store, "commit", meanwhile)
        asked = await holder.ask()

    async with asyncio.timeout(10):
        assert outcome(await other.say(resume=other.entries(asked))) == "success"
    assert (world.outside.ends, world.outside.acts) == (["let go"], ["c1"])


async def test_where_nothing_is_to_be_held_what_waits_is_ended_before_anybody_can_answer() -> None:
    world = Processes(hold_seconds=0.0)
    holder, _, asked = await world.ask()
    assert world.outside.ends == ["let go"]
    record = (await holder.load()).record
    assert record is not None
    assert record.hold is None
    assert outcome(await holder.say(resume=holder.entries(asked))) == "success"
    assert world.agents[0].told == [False]


async def test_what_waits_for_a_pause_that_is_refused_is_ended() -> None:
    world = Processes(1, calls=("c1", "c1"))
    (bench,) = world.benches
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"
    await eventually(lambda: world.outside.ends == ["let go"])
    assert (world.agents[0].sides, len(bench.engine.holds)) == ({}, 0)


async def test_an_adapter_that_declares_no_holds_can_have_none() -> None:
    bench = Bench(Scripted([Pause([approval()], held=True)]))
    assert bench.adapter.capabilities == AdapterCapabilities()
    assert outcome(await bench.say("go")) == "AGENT_ERROR"


async def test_a_deleted_thread_is_told_to_the_holder() -> None:
    world = Processes()
    holder, other, _ = await world.ask()
    await other.engine.delete(holder.KEY)
    await eventually(lambda: world.outside.ends == ["stopped"])


async def test_fifty_questions_are_held_in_one_process_and_answered_in_another() -> None:
    world = Processes()
    store = world.benches[0].store
    here, there = world.agents
    pairs = []
    for number in range(50):
        mine, theirs = (
            Bench(agent, store=store, clock=world.clock, thread=f"t{number}")
            for agent in (here, there)
        )
        mine.engine.holds = world.benches[0].engine.holds
        pairs.append((theirs, await mine.ask()))
    assert len(here.sides) == 50

    ends = await asyncio.gather(*(b.say(resume=b.entries(asked)) for b, asked in pairs))

    assert {outcome(events) for events in ends} == {"success"}
    assert (len(world.outside.acts), world.outside.loaded, here.sides) == (50, 0, {})
