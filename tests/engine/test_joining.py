"""The same or another answer at once, and after: Join, Replay, Hold and the claim's race."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import (
    Answering,
    Bench,
    Reader,
    Scripted,
    approval,
    outcome,
    result,
    settle,
)


def held() -> tuple[Answering, asyncio.Event]:
    """An agent whose tool waits until it is let go."""
    agent, release = Answering(), asyncio.Event()
    agent.before_tool = release.wait
    return agent, release


@pytest.mark.parametrize("processes", [1, 2])
async def test_the_same_answer_from_a_second_client_joins_and_executes_nothing(
    processes: int,
) -> None:
    agent, release = held()
    store = MemoryStore()
    bench = Bench(agent, store=store)
    other = bench if processes == 1 else Bench(Scripted(["never"]), store=store)
    asked = await bench.ask()
    first = bench.begin(resume=bench.entries(asked))
    await first.until("TEXT_MESSAGE_CONTENT")
    second = other.begin(resume=bench.entries(asked), runId="mine")
    started = await second.until("RUN_STARTED")
    assert started["runId"] == "mine"
    await settle()
    assert second.kinds == ["RUN_STARTED"]
    release.set()
    assert outcome(await first.rest()) == outcome(await second.rest()) == "success"
    assert second.kinds == ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert second.events[2]["messages"] == first.events[-2]["messages"]
    assert second.events[-1]["runId"] == "mine"
    assert len(agent.executed) == 1


async def test_many_same_answers_at_once_execute_once_and_all_see_the_end() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    entries = bench.entries(asked)
    streams = await asyncio.gather(*(bench.say(resume=entries) for _ in range(20)))
    assert {outcome(events) for events in streams} == {"success"}
    assert len(agent.executed) == 1


async def test_a_joined_run_that_asks_again_shows_its_new_question_to_both() -> None:
    release = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        await release.wait()
        yield result("c1")
        yield Pause([approval("c2")])

    bench = Bench(Scripted([Pause([approval()])], resumed))
    asked = await bench.ask()
    first = bench.begin(resume=bench.entries(asked))
    second = bench.begin(resume=bench.entries(asked))
    await second.until("RUN_STARTED")
    release.set()
    ends = [(await reader.rest())[-1]["outcome"] for reader in (first, second)]
    assert ends[0] == ends[1] and ends[0]["type"] == "interrupt"


async def test_a_joined_run_that_fails_is_told_as_that_failure() -> None:
    release = asyncio.Event()

    async def resumed(run: Run) -> AsyncIterator[RunItem]:
        await release.wait()
        yield "x"
        raise ValueError("no")

    bench = Bench(Scripted([Pause([approval()])], resumed))
    asked = await bench.ask()
    first = bench.begin(resume=bench.entries(asked))
    second = bench.begin(resume=bench.entries(asked))
    await second.until("RUN_STARTED")
    release.set()
    assert outcome(await first.rest()) == outcome(await second.rest()) == "AGENT_ERROR"


async def test_conflicting_answers_at_once_have_one_winner_and_the_other_is_told() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    yes, no = bench.entries(asked), bench.entries(asked, {"approved": False})
    both = await asyncio.gather(bench.say(resume=yes), bench.say(resume=no))
    assert sorted(filter(None, map(outcome, both))) == ["INTERRUPT_ALREADY_ANSWERED", "success"]
    assert len(agent.executed) == (1 if outcome(both[0]) == "success" else 0)


async def test_another_answer_while_the_first_is_carried_out_waits_and_is_refused() -> None:
    agent, release = held()
    bench = Bench(agent)
    asked = await bench.ask()
    first = bench.begin(resume=bench.entries(asked))
    await first.until("TEXT_MESSAGE_CONTENT")
    second = bench.begin(resume=bench.entries(asked, {"approved": False}))
    await second.until("RUN_STARTED")
    await settle()
    assert second.kinds == ["RUN_STARTED"]
    release.set()
    await first.rest()
    events = await second.rest()
    assert outcome(events) == "INTERRUPT_ALREADY_ANSWERED"
    kinds = [e["type"] for e in events]
    assert kinds[-3:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED", "RUN_ERROR"]
    assert len(agent.executed) == 1


async def test_the_same_answer_afterwards_is_replayed_with_the_outcome_of_now() -> None:
    agent = Answering()
    bench = Bench(agent)
    asked = await bench.ask()
    await bench.say(resume=bench.entries(asked))
    events = await bench.say(resume=bench.entries(asked), runId="again")
    assert [e["type"] for e in events] == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "MESSAGES_SNAPSHOT",
        "RUN_FINISHED",
    ]
    assert events[0]["runId"] == "again"
    await bench.say("another question")
    later = await bench.say(resume=bench.entries(asked))
    assert outcome(later) == "interrupt"
    assert len(agent.executed) == 1


async def test_two_new_messages_at_once_run_one_after_the_other_or_are_refused() -> None:
    bench = Bench(Scripted(["x"]))
    both = await asyncio.gather(bench.say("a"), bench.say("b"))
    assert sorted(filter(None, map(outcome, both))) in (
        ["RUN_IN_PROGRESS", "success"],
        ["success", "success"],
    )


async def test_a_new_message_during_a_run_is_refused_without_a_snapshot() -> None:
    agent, release = held()
    bench = Bench(agent)
    asked = await bench.ask()
    first = bench.begin(resume=bench.entries(asked))
    await first.until("TEXT_MESSAGE_CONTENT")
    events = await bench.say("impatient")
    assert [e["type"] for e in events] == ["RUN_STARTED", "RUN_ERROR"]
    assert outcome(events) == "RUN_IN_PROGRESS"
    release.set()
    await first.rest()
    assert "impatient" not in [c for _, c in await bench.texts()]


class Singly(Bench):
    """Inputs of a dialect whose clients answer one interrupt at a time."""

    def singly(self, *texts: str, **members: object) -> Reader:
        call: Submission = self.call(*texts, **members)  # type: ignore[arg-type]  # the members are those of a call
        dialect = replace(call.parsed.dialect, answers_singly=True)
        single = replace(call, parsed=replace(call.parsed, dialect=dialect))
        return Reader(*self.engine.submit(single))


async def test_a_dialect_that_answers_singly_holds_answers_until_the_last_one() -> None:
    agent = Answering(approval("c1"), approval("c2"))
    bench = Singly(agent)
    asked = await bench.ask()
    events = await bench.singly(resume=bench.entries(asked[:1])).rest()
    assert events[-1]["outcome"]["interrupts"] == asked[1:]
    rows = (await bench.load()).interrupts
    assert [rows[i["id"]].status for i in asked] == ["answered", "open"]
    assert agent.executed == []
    same = await bench.singly(resume=bench.entries(asked[:1])).rest()
    assert same[-1]["outcome"]["interrupts"] == asked[1:]
    other = await bench.singly(resume=bench.entries(asked[:1], {"approved": False})).rest()
    assert outcome(other) == "INTERRUPT_ALREADY_ANSWERED"
    last = await bench.singly(resume=bench.entries(asked[1:])).rest()
    assert outcome(last) == "success"
    assert [call for call, _ in agent.executed] == ["c1", "c2"]


async def test_a_partial_answer_of_1_0_is_refused_naming_what_is_left_out() -> None:
    agent = Answering(approval("c1"), approval("c2"))
    bench = Bench(agent)
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked[:1]))
    assert outcome(events) == "INTERRUPT_NOT_COVERED"
    assert asked[1]["id"] in events[-1]["message"]
    rows = (await bench.load()).interrupts.values()
    assert {row.status for row in rows} == {InterruptStatus.OPEN}


async def test_unknown_interrupts_can_be_ignored_by_a_setting() -> None:
    agent = Answering()
    bench = Bench(agent, skip_unknown_interrupts=True)
    asked = await bench.ask()
    stray = [{"interruptId": "nobody", "status": "cancelled"}]
    assert outcome(await bench.say(resume=[*bench.entries(asked), *stray])) == "success"
    assert len(agent.executed) == 1
    assert (await bench.load()).status is ThreadStatus.IDLE
