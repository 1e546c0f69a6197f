"""Remembered decisions: approved once, not asked again, within what was said; on every store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import ApprovalRule, Bridge, FunctionRun, Principal, ProposedCall
from agui_bridge.engine.input.submission import Submission
from agui_bridge.inbox.reference import Reference
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.approval_rule import Remember
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadKey
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stores.base import QuestionFilter
from tests.processes.conftest import STORES

ANN, BOB, CARL = (Principal("team", name) for name in ("ann", "bob", "carl"))
YES = {"approved": True}
OFFERS = tuple(Remember(holder) for holder in ("thread", "actor", "scope"))


@dataclass
class Office:
    """A bridge whose agent pays what its runs' threads say, once it is approved.

    Attributes:
        paid: what was executed.
        rule: of every question.
        calls: what the next run proposes, several at once.
        denied: what the policy denies, by amount.
        narrowing: what the agent says of who may answer.
    """

    bridge: Bridge
    rule: ApprovalRule = field(default_factory=lambda: ApprovalRule("pay", remember=OFFERS))
    paid: list[int] = field(default_factory=list)
    calls: tuple[dict[str, Any], ...] = ({"amount": 5},)
    denied: frozenset[int] = frozenset()
    approvers: list[str | None] = field(default_factory=list)
    narrowing: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bridge.approvals(lambda _: self.rule)
        self.bridge.policy(self._judge)
        self.bridge.agent("office")(self._agent)

    def _judge(self, call: ProposedCall) -> str:
        self.approvers.append(call.approved_by)
        return "deny" if call.args["amount"] in self.denied else "allow"

    async def _agent(self, run: FunctionRun) -> AsyncIterator[str]:
        approvals = await asyncio.gather(
            *(
                run.approve("pay", args, parameters={"type": "object"}, **self.narrowing)
                for args in self.calls
            )
        )
        for approval in approvals:
            if approval:
                await run.tool(approval, lambda amount: self.paid.append(amount))
        yield "Done."

    async def ask(self, thread: str, principal: Principal = ANN) -> list[dict[str, Any]]:
        """Begin a run, and give its events."""
        message = {"id": f"m-{thread}", "role": "user", "content": "pay"}
        body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": [message]}
        call = Submission(self.bridge.agents["office"], principal, parse_input(body))
        pipe, _ = (await self.bridge.open()).submit(call)
        decoder = Decoder()
        events: list[dict[str, Any]] = []
        while chunk := await pipe.read():
            events += [json.loads(frame.data) for frame in decoder.feed(chunk)]
        return events

    async def questions(self, thread: str) -> list[Interrupt]:
        store = (await self.bridge.open()).store
        return [
            row.interrupt
            for row in await store.list_interrupts("team", QuestionFilter(thread=thread))
        ]

    async def approve(
        self, thread: str, principal: Principal = BOB, **payload: Any
    ) -> dict[str, Any]:
        """Answer all open questions of a thread alike."""
        open_ones = [ask for ask in await self.questions(thread) if ask.is_open]
        answers = {ask.id: {**YES, **payload} for ask in open_ones}
        return await self.bridge.resume("office", thread, answers, principal=principal)

    async def is_asked(self, thread: str, principal: Principal = ANN) -> bool:
        """Whether a new run has to wait for somebody."""
        events = await self.ask(thread, principal)
        outcome = events[-1].get("outcome", {}).get("type")
        assert outcome in ("success", "interrupt"), events[-1]
        return bool(outcome == "interrupt")


@pytest.fixture(params=["memory", *STORES])
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    url = "memory:" if request.param == "memory" else STORES[request.param](tmp_path)
    bridge = Bridge(url, audit_keys=["k" * 32])
    yield Office(bridge)
    await bridge.aclose()


@pytest.fixture
async def small() -> AsyncIterator[Office]:
    """The same on memory, for what no store decides."""
    bridge = Bridge("memory:")
    yield Office(bridge)
    await bridge.aclose()


async def test_what_was_approved_for_good_runs_without_asking(office: Office) -> None:
    assert await office.is_asked("t-1")
    (ask,) = await office.questions("t-1")
    assert ask.response_schema is not None
    member = ask.response_schema["properties"]["remember"]
    assert member["enum"] == ["thread", "actor", "scope"]
    assert "actor: for " in member["description"] and "; with " in member["description"]
    await office.approve("t-1", remember="actor")
    assert office.paid == [5]

    events = await office.ask("t-2")
    kinds = [event["type"] for event in events]
    assert office.paid == [5, 5]
    assert events[-1]["outcome"] == {"type": "success"}
    assert (kinds.count("RUN_STARTED"), kinds.count("RUN_FINISHED")) == (1, 1)
    assert kinds.count("TOOL_CALL_RESULT") == 1
    (settled,) = await office.questions("t-2")
    assert [(entry.status.value, entry.actor, entry.via) for entry in settled.audit] == [
        ("open", "agent", None),
        ("answered", f"rule:{ask.id}", "rule"),
        ("claimed", "ann", "rule"),
        ("resolved", "ann", None),
    ]
    assert office.approvers[-1] == f"rule:{ask.id}"

    store = (await office.bridge.open()).store
    (grant,) = await store.grants.list("team")
    assert (grant.uses, grant.granted_by, grant.held_by) == (1, "bob", "ann")
    assert len(await store.audit.rows(ThreadKey("team", "office", "t-2"))) == 4


@pytest.mark.parametrize(
    ("holder", "thread", "principal", "asked"),
    [
        ("thread", "t-1", ANN, False),
        ("thread", "t-2", ANN, True),
        ("actor", "t-2", ANN, False),
        ("actor", "t-2", CARL, True),
        ("scope", "t-2", CARL, False),
        ("scope", "t-2", Principal("other", "ann"), True),
    ],
)
async def test_it_is_for_its_holder_alone(
    small: Office, holder: str, thread: str, principal: Principal, asked: bool
) -> None:
    await small.ask("t-1")
    await small.approve("t-1", remember=holder)
    if thread == "t-1":
        # A message that the thread has not seen.
        body = {"id": "again", "role": "user", "content": "pay again"}
        await small_again(small, body)
        assert (small.paid == [5, 5]) is not asked
        return
    assert await small.is_asked(thread, principal) is asked


async def small_again(small: Office, message: dict[str, Any]) -> None:
    body = {"threadId": "t-1", "runId": "r2", "protocolVersion": "1.0", "messages": [message]}
    call = Submission(small.bridge.agents["office"], ANN, parse_input(body))
    pipe, _ = (await small.bridge.open()).submit(call)
    while await pipe.read():
        pass


@pytest.mark.parametrize(
    ("given", "again", "asked"),
    [
        ({"remember": "scope"}, {"amount": 5}, False),
        ({"remember": "scope"}, {"amount": 6}, True),
        ({"remember": "scope", "editedArgs": {"amount": 5}}, {"amount": 5}, True),
        ({"remember": "scope", "approved": False}, {"amount": 5}, True),
        ({}, {"amount": 5}, True),
    ],
)
async def test_only_the_approval_of_the_arguments_as_they_were_is_remembered(
    small: Office, given: dict[str, Any], again: dict[str, Any], asked: bool
) -> None:
    await small.ask("t-1")
    await small.approve("t-1", **given)
    small.calls = (again,)
    assert await small.is_asked("t-2") is asked


async def test_a_rule_says_how_arguments_may_differ(small: Office) -> None:
    offer = Remember("scope", {"/amount": {"max": 10}})
    small.rule = ApprovalRule("pay", remember=(offer,))
    await small.ask("t-1")
    await small.approve("t-1", remember="scope")
    small.calls = ({"amount": 10},)
    assert not await small.is_asked("t-2")
    small.calls = ({"amount": 11},)
    assert await small.is_asked("t-3")


async def test_what_is_not_offered_is_refused_or_not_heeded(small: Office) -> None:
    small.rule = ApprovalRule("pay", remember=(Remember("thread"),))
    await small.ask("t-1")
    refused = await small.approve("t-1", remember="scope")
    assert refused["code"] == "INVALID_RESUME_PAYLOAD"
    assert small.paid == []


@pytest.mark.parametrize(
    "strict",
    [
        ApprovalRule("pay", quorum=2, remember=OFFERS),
        ApprovalRule("pay", each_of=(("bob",), ("carl",)), remember=OFFERS),
        ApprovalRule("pay", self_approval=False, remember=OFFERS),
        ApprovalRule("pay"),
        ApprovalRule("another", remember=OFFERS),
    ],
)
async def test_a_stricter_rule_is_asked_for_all_the_same(
    small: Office, strict: ApprovalRule
) -> None:
    await small.ask("t-1")
    await small.approve("t-1", remember="scope")
    small.rule = strict
    assert await small.is_asked("t-2")
    (ask,) = await small.questions("t-2")
    offered = "remember" in (ask.response_schema or {})["properties"]
    assert offered is (strict.name == "another")


async def test_what_a_policy_denies_is_not_executed(small: Office) -> None:
    await small.ask("t-1")
    await small.approve("t-1", remember="scope")
    small.denied = frozenset({5})
    events = await small.ask("t-2")
    assert small.paid == [5]
    assert events[-1]["type"] == "RUN_ERROR"


async def test_of_several_questions_only_the_others_are_asked(office: Office) -> None:
    await office.ask("t-1")
    await office.approve("t-1", remember="scope")
    office.calls = ({"amount": 5}, {"amount": 7})
    events = await office.ask("t-2")
    (shown,) = events[-1]["outcome"]["interrupts"]
    statuses = [ask.status for ask in await office.questions("t-2")]
    assert statuses == [InterruptStatus.ANSWERED, InterruptStatus.OPEN]
    assert shown["id"] == (await office.questions("t-2"))[1].id
    assert office.paid == [5]
    await office.approve("t-2")
    assert sorted(office.paid) == [5, 5, 7]


async def test_a_revoked_one_is_asked_again(office: Office) -> None:
    await office.ask("t-1")
    await office.approve("t-1", remember="scope")
    (grant,) = await office.bridge.grants(ANN)
    assert await office.bridge.revoke_grant(grant.id, ANN)
    assert not await office.bridge.revoke_grant(grant.id, ANN)
    assert await office.is_asked("t-2")
    (grant,) = await office.bridge.grants(ANN)
    assert grant.revoked_by == "ann"


async def test_one_that_was_revoked_and_pruned_does_not_come_back_with_the_rest_of_its_batch(
    office: Office,
) -> None:
    office.calls = ({"amount": 5}, {"amount": 7})
    await office.ask("t-1")
    store = (await office.bridge.open()).store
    rows = await store.list_interrupts("team", QuestionFilter(thread="t-1"))
    one, other = (Reference(row.key, row.interrupt.id) for row in rows)
    held = await office.bridge.answer(one, {**YES, "remember": "scope"}, principal=BOB)
    assert held.status == "answered"
    (grant,) = await office.bridge.grants(ANN)
    assert await office.bridge.revoke_grant(grant.id, ANN)
    assert await store.grants.prune(0.0) == 1

    assert not (await office.bridge.answer(other, YES, principal=BOB)).refused
    assert sorted(office.paid) == [5, 7]
    assert await office.bridge.grants(ANN) == []


@pytest.mark.soak
async def test_uses_are_no_more_than_allowed_in_two_processes_rounds(
    office: Office, tmp_path: Path
) -> None:
    """Two bridges on one store stand for two processes: neither knows of the other."""
    store = office.bridge.store
    other = office if store == "memory:" else Office(Bridge(store))
    office.rule = other.rule = ApprovalRule("pay", remember=(Remember("scope", max_uses=1),))
    for round in range(10):
        amount = 100 + round
        office.calls = other.calls = ({"amount": amount},)
        office.paid.clear()
        other.paid.clear()
        await office.ask(f"first-{round}")
        await office.approve(f"first-{round}", remember="scope")
        asked = await asyncio.gather(
            *(
                each.is_asked(f"{round}-{number}-{each is other}")
                for number in range(3)
                for each in ((office, other) if other is not office else (office,))
            )
        )
        assert asked.count(False) == 1
        paid = office.paid + (other.paid if other is not office else [])
        assert paid == [amount, amount]
    if other is not office:
        await other.bridge.aclose()


async def test_a_pause_that_nobody_must_answer_is_carried_on_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is lost between the pause and its going on: the next input goes on."""
    url = STORES["sqlite"](tmp_path)
    office = Office(Bridge(url))
    await office.ask("t-1")
    await office.approve("t-1", remember="scope")
    engine = await office.bridge.open()
    carry_out, lost = engine._carry_out, asyncio.Event()

    async def lose(submission: Submission, *others: Any) -> Any:
        if submission.via != "rule":
            return await carry_out(submission, *others)
        lost.set()
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_carry_out", lose)
        beginning = asyncio.ensure_future(office.ask("t-2"))
        await lost.wait()
        beginning.cancel()
    assert office.paid == [5]
    (ask,) = await office.questions("t-2")
    assert ask.status is InterruptStatus.ANSWERED
    await office.ask("t-2")
    assert office.paid == [5, 5]
    assert [grant.uses for grant in await office.bridge.grants(ANN)] == [1]
    await office.bridge.aclose()


@pytest.mark.parametrize("chosen", [[], {}, ["scope"], 5, None, "no holder"])
async def test_a_member_that_nobody_offered_decides_nothing(small: Office, chosen: Any) -> None:
    small.rule = ApprovalRule("pay")
    assert await small.is_asked("t-1")
    await small.approve("t-1", remember=chosen)
    assert small.paid == [5]
    assert await small.is_asked("t-2")


async def test_an_agent_that_narrows_a_question_has_those_people_asked(small: Office) -> None:
    assert await small.is_asked("t-1")
    await small.approve("t-1", remember="scope")
    assert not await small.is_asked("t-2")
    small.narrowing = {"approvers": ["carl"]}
    assert await small.is_asked("t-3")
    (ask,) = await small.questions("t-3")
    assert ask.response_schema is not None
    assert "remember" not in ask.response_schema["properties"]
