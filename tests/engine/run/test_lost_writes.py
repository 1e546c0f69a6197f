"""A store that loses its last writes in a failover, while the run that made them goes on."""

import asyncio
import copy
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.approvals import Question
from agui_bridge.cli.approvals.audit_chain import verify_store
from agui_bridge.errors import AdapterError, NotReplicated
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.base import QuestionFilter
from tests.engine.run.hooked import HookedStore, claims, ends
from tests.support.agents import (
    Answering,
    Bench,
    Scripted,
    approval,
    outcome,
    redacted,
    result,
    text_events,
)

ANY = {"type": "object", "properties": {"to": {"type": "string"}}}
KEYS = AuditKeys(["k" * 32])


class Failing(HookedStore):
    """A primary whose replica has what it had when `replicate` was called last."""

    def __init__(self) -> None:
        super().__init__()
        self.audit.keys = KEYS
        self.replicate()

    def replicate(self) -> None:
        self._replica = copy.deepcopy((self._threads, self.audit._rows))

    def fail_over(self) -> None:
        threads, self.audit._rows = copy.deepcopy(self._replica)
        self._threads.clear()
        self._threads.update(threads)


class Two(Scripted):
    """Asks about two calls, executes both, and ends as it is told once it may."""

    def __init__(self, end: str) -> None:
        super().__init__([Pause([approval("c1"), approval("c2")])], self._resumed)
        self.end = end
        self.executed = 0
        self.go = asyncio.Event()

    async def _resumed(self, run: Run) -> AsyncIterator[RunItem]:
        self.executed += 1
        yield result("c1", "paid 1")
        for item in text_events("said", "One is paid."):
            yield item
        self.executed += 1
        yield redacted(run, "One is paid.", "One is [redacted].")
        yield result("c2", "paid 2")
        await self.go.wait()
        if self.end == "pause":
            yield Pause([approval("c3")])
        if self.end == "failure":
            raise AdapterError("no")


ENDS = {"finished": "success", "pause": "interrupt", "failure": "AGENT_ERROR", "stop": "cancelled"}


@pytest.mark.parametrize("writes", [0, 1, 2], ids=lambda n: f"{n} of its writes replicated")
@pytest.mark.parametrize("end", ENDS)
async def test_what_a_run_has_told_is_in_the_store_at_its_end(end: str, writes: int) -> None:
    agent, store = Two(end), Failing()
    bench = Bench(agent, store=store)
    asked = await bench.ask()
    left = 1 + writes

    async def replicate(change: Any) -> None:
        nonlocal left
        if left:
            left -= 1
            store.replicate()

    store.after = replicate
    reader = bench.begin(resume=bench.entries(asked))
    while reader.kinds.count("TOOL_CALL_RESULT") < 2:
        assert await reader.step()
    store.fail_over()
    if end == "stop":
        await bench.engine.stop(bench.KEY, force=True)
    agent.go.set()
    assert outcome(await reader.rest()) == ENDS[end]

    told = {e["toolCallId"]: e["content"] for e in reader.events if "content" in e}
    loaded = await bench.load(*(ask["id"] for ask in asked))
    messages = [row.message for row in loaded.messages]
    kept = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    assert kept == told == {"c1": "paid 1", "c2": "paid 2"}
    assert "One is [redacted]." in [m.get("content") for m in messages]
    assert "One is paid." not in str(messages)
    found = [loaded.interrupts[ask["id"]].status for ask in asked]
    assert found == [InterruptStatus.RESOLVED] * 2
    verdict = await verify_store(store, KEYS)
    assert (verdict.faults, verdict.redactions) == ([], 1)


async def test_a_run_whose_claim_is_lost_is_indeterminate_and_closes_its_questions() -> None:
    agent, store = Two("finished"), Failing()
    bench = Bench(agent, store=store)
    asked = await bench.ask()
    store.replicate()
    reader = bench.begin(resume=bench.entries(asked))
    while reader.kinds.count("TOOL_CALL_RESULT") < 2:
        assert await reader.step()
    store.fail_over()
    agent.go.set()
    assert outcome(await reader.rest()) == "RUN_INDETERMINATE"

    # It knows what it did, and nobody is asked again.
    loaded = await bench.load(*(ask["id"] for ask in asked))
    assert loaded.status is ThreadStatus.IDLE
    found = {ask.tool_call.id: ask.status for ask in loaded.interrupts.values() if ask.tool_call}
    assert found == dict.fromkeys(["c1", "c2"], InterruptStatus.RESOLVED)
    messages = [row.message for row in loaded.messages]
    kept = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
    assert kept == {"c1": "paid 1", "c2": "paid 2"}
    assert (await verify_store(store, KEYS)).faults == []
    again = Bench(agent, store=store)
    assert outcome(await again.say(resume=again.entries(asked))) == "RUN_INDETERMINATE"
    assert agent.executed == 2


# --- claims and ends that are there, and perhaps nowhere else ---


class Unreplicated(HookedStore):
    """A store whose replicas acknowledge nothing of a kind."""

    def __init__(self, kind: Any, times: int = 1000) -> None:
        super().__init__()

        async def after(change: Any) -> None:
            nonlocal times
            if times and kind(change):
                times -= 1
                raise NotReplicated("0 of 1")

        self.unreplicated = after


@pytest.mark.parametrize("end", ["finished", "pause"])
async def test_an_end_that_is_not_known_to_be_replicated_is_told_as_unknown(end: str) -> None:
    agent, store = Two(end), Unreplicated(ends)
    bench = Bench(agent, store=store, store_retry=0.1)
    asked = await bench.ask()
    store.after = store.unreplicated
    agent.go.set()
    events = await bench.say(resume=bench.entries(asked))

    assert outcome(events) == "RUN_INDETERMINATE"
    assert "RUN_FINISHED" not in [event["type"] for event in events]


async def test_a_claim_that_is_not_known_to_be_replicated_runs_nothing_and_is_given_back() -> None:
    agent = Answering(approval("c1"), approval("c2", parameters=ANY), edit=True)
    store = Unreplicated(claims)
    bench = Bench(agent, store=store, store_retry=0.1)
    who = {"c1": "bob", "c2": "ann"}
    rules = {call: ApprovalRule(call, (approver,)) for call, approver in who.items()}

    def rule_of(question: Question) -> ApprovalRule:
        assert question.args is not None
        return rules[question.args["to"]]

    bench.agent = replace(bench.agent, approvals=rule_of)
    await bench.ask()
    first, second = ({"id": ask.id} for ask in (await bench.load()).batch_interrupts())
    held = bench.entries([first])
    await bench.say(resume=held, actor="bob")
    before = (await bench.load(first["id"])).interrupts
    store.after = store.unreplicated
    edited = bench.entries([second], {"approved": True, "editedArgs": {"to": "me"}})
    with pytest.raises(NotReplicated):
        await bench.say("and this", resume=edited)
    await asyncio.gather(*bench.engine._tasks)

    assert agent.executed == []
    loaded = await bench.load(first["id"])
    was, now = before[first["id"]], loaded.interrupts[first["id"]]
    assert (now.status, now.answer, now.changes[-1].actor) == (was.status, was.answer, "bob")
    again = loaded.interrupts[second["id"]]
    assert (again.status, again.answer) == (InterruptStatus.OPEN, None)
    assert ("user", "and this") in await bench.texts()
    assert '"me"' not in str([row.message for row in loaded.messages])

    store.after = HookedStore().after
    assert outcome(await bench.say(resume=bench.entries([second]))) == "success"
    assert agent.executed == [("c1", {"to": "c1"}), ("c2", {"to": "c2"})]


async def test_votes_stand_as_before_when_a_claim_is_given_back() -> None:
    agent, store = Answering(), Unreplicated(claims)
    bench = Bench(agent, store=store, store_retry=0.1)
    rule = ApprovalRule("two", quorum=2)
    bench.agent = replace(bench.agent, approvals=lambda question: rule)
    (asked,) = await bench.ask()
    await bench.say(resume=bench.entries([asked]), actor="bob")
    store.after = store.unreplicated
    with pytest.raises(NotReplicated):
        await bench.say(resume=bench.entries([asked]), actor="cy")
    await asyncio.gather(*bench.engine._tasks)

    ask = (await bench.load(asked["id"])).interrupts[asked["id"]]
    assert ask.status is InterruptStatus.OPEN
    assert [vote.actor for vote in ask.votes] == ["bob"]


async def test_a_start_that_is_given_back_leaves_its_message_to_the_next_run() -> None:
    heard: list[list[str]] = []

    async def script(run: Run) -> AsyncIterator[RunItem]:
        heard.append([str(m.content) for m in run.new_messages])
        yield "hello"

    store = Unreplicated(claims)
    bench = Bench(Scripted(script), store=store, store_retry=0.1)
    store.after = store.unreplicated
    with pytest.raises(NotReplicated):
        await bench.say("one")
    await asyncio.gather(*bench.engine._tasks)
    assert heard == []

    store.after = HookedStore().after
    assert outcome(await bench.say("two")) == "success"
    assert heard == [["one", "two"]]


# --- what an earlier failover has left behind ---


async def left_behind(bench: Bench) -> str:
    """An idle thread with a claimed question: its run's result is gone, its end is not."""
    agent, store = bench.adapter, bench.store
    assert isinstance(agent, Two) and isinstance(store, HookedStore)
    asked = await bench.ask()
    agent.go.set()
    await bench.say(resume=bench.entries(asked))
    thread = store._threads[bench.KEY]
    claimed = thread.interrupts[asked[0]["id"]]
    thread.interrupts[claimed.id] = replace(
        claimed, status=InterruptStatus.CLAIMED, audit=claimed.audit[:-1]
    )
    del thread.messages["m-c1"]
    return claimed.id


async def answers(bench: Bench, id: str) -> None:
    await bench.say(resume=bench.entries([{"id": id}]))


async def says_something(bench: Bench, id: str) -> None:
    await bench.say("well?")


async def looks(bench: Bench, id: str) -> None:
    rows = await bench.store.list_interrupts("default")
    seen = {row.interrupt.id: row.interrupt for row in await bench.engine.as_seen(rows)}
    assert seen[id].status is InterruptStatus.INDETERMINATE


@pytest.mark.parametrize("see", [answers, says_something, looks])
async def test_a_question_that_is_claimed_where_nothing_runs_is_indeterminate_when_seen(
    see: Any,
) -> None:
    store = HookedStore()
    id = await left_behind(Bench(Two("finished"), store=store))
    bench = Bench(Two("finished"), store=store)
    await see(bench, id)

    ask = (await bench.load(id)).interrupts[id]
    assert ask.status is InterruptStatus.INDETERMINATE
    await bench.say("and now?")
    told = [m.message for m in (await bench.load()).messages if m.message["role"] == "tool"]
    assert [m["content"] for m in told if m["toolCallId"] == "c1"] == [UNTOLD]


async def test_a_question_that_is_claimed_by_a_run_stays_so_when_seen() -> None:
    agent = Two("finished")
    bench = Bench(agent)
    asked = await bench.ask()
    reader = bench.begin(resume=bench.entries(asked))
    await reader.until("RUN_STARTED")
    rows = await bench.store.list_interrupts(
        "default", QuestionFilter(status=InterruptStatus.CLAIMED)
    )
    assert await bench.engine.as_seen(rows) == rows
    agent.go.set()
    assert outcome(await reader.rest()) == "success"
