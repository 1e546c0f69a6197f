"""Who writes to the store without a key can't answer for others, and what they change is found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agui_bridge import ApprovalRule, Bridge
from agui_bridge.approvals import Approvals
from agui_bridge.cli.approvals.audit_chain import verify_store
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
    ThreadKey,
    Vote,
)
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.open import open_store
from tests.bridge.several_people import Office, always
from tests.processes.conftest import STORES

KEY = "k" * 40
THREAD = ThreadKey("team", "office", "t")
OPEN = InterruptStatus.OPEN
TWO = ApprovalRule("two", ("bob", "cy", "dan"), quorum=2, self_approval=False)
BOTH = ApprovalRule("both", each_of=(("role:dba",), ("role:law",)))
YES = RecordedAnswer("resolved", {"approved": True})

MakeOffice = Callable[..., Office]
Forgery = Callable[[Interrupt], Interrupt]


@pytest.fixture(params=["memory", *STORES])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of a kind, with nothing in it."""
    return "memory:" if request.param == "memory" else STORES[request.param](tmp_path)


@pytest.fixture
async def store(address: str) -> Store:
    """It, opened; whoever has a bridge on it closes both."""
    return await open_store(address)


@pytest.fixture
async def office(store: Store) -> AsyncIterator[MakeOffice]:
    """Makes an office on it, whose bridge has a key."""
    bridge = Bridge(store, audit_keys=[KEY])

    def make(rule: ApprovalRule = TWO, approvals: Approvals | None = None) -> Office:
        return Office(approvals or always(rule), bridge=bridge)

    yield make
    await bridge.aclose()


async def write(store: Store, change: Forgery, *, sealed: bool = False, position: int = 0) -> None:
    """Change a stored question, with the bridge's key or without."""
    rows = await store.list_interrupts("team", limit=10)
    asks = {row.interrupt.position: row.interrupt for row in rows}
    record = (await store.load(THREAD)).record
    assert record is not None
    keys = store.audit.keys
    store.audit.keys = keys if sealed else None
    done = Change(record, interrupts=(change(asks[position]),))
    await store.commit(THREAD, done, Expected(version=record.version), f"write-{record.version}")
    store.audit.keys = keys


def vote_of(ask: Interrupt, actor: str, *roles: str) -> Vote:
    """What somebody's vote would look like beside that of others."""
    digest = ask.votes[0].args_digest if ask.votes else None
    return Vote(actor, frozenset(roles), YES, digest, ask.audit[-1].at, "agui")


def forged(ask: Interrupt) -> Interrupt:
    return replace(ask, votes=(*ask.votes, vote_of(ask, "dan")))


def with_history(ask: Interrupt, after: float = 0.0) -> Interrupt:
    entry = AuditEntry(OPEN, ask.audit[-1].at + after, "dan", "agui", "two", "voted")
    return replace(forged(ask), audit=(*ask.audit, entry))


def told_of_later(ask: Interrupt) -> Interrupt:
    """What the bridge writes itself: somebody was told of the question."""
    entry = AuditEntry(OPEN, ask.audit[-1].at + 1, "bridge", "rule", "two", "notified")
    return replace(ask, audit=(*ask.audit, entry))


async def faults(store: Store) -> list[str]:
    return [it.what for it in (await verify_store(store, AuditKeys([KEY]))).faults]


async def test_sealed_votes_count_and_the_chain_is_whole(store: Store, office: MakeOffice) -> None:
    people = office()
    await people.say("ann", "rows")
    for who in ("bob", "cy"):
        assert people.done == []
        await people.answer(who, await people.ids())
    assert people.done == ["rows"]
    assert await faults(store) == []


@pytest.mark.parametrize(
    "forgery",
    [
        forged,
        with_history,
        lambda ask: with_history(ask, 3600.0),
        lambda ask: replace(ask, votes=tuple(replace(v, actor="dan") for v in ask.votes)),
    ],
    ids=["a vote", "with its history", "of the future", "in the name of another"],
)
@pytest.mark.parametrize("sealed_later", [False, True])
async def test_a_forged_vote_does_not_count(
    store: Store,
    office: MakeOffice,
    forgery: Forgery,
    sealed_later: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    people = office(replace(TWO, quorum=3))
    await people.say("ann", "rows")
    await people.answer("cy", await people.ids())
    await write(store, forgery)
    assert any("vote of dan" in fault for fault in await faults(store))
    if sealed_later:
        await write(store, told_of_later, sealed=True)
    event = await people.answer("bob", await people.ids())
    assert people.done == []
    assert event["outcome"]["type"] == "interrupt"
    assert "It was taken back" in caplog.text
    assert any("taken back" in fault for fault in await faults(store))
    (ask,) = await people.rows()
    assert "dan" not in {vote.actor for vote in ask.votes}


async def test_another_role_does_not_count(store: Store, office: MakeOffice) -> None:
    people = office(BOTH)
    await people.say("ann", "rows")
    await people.answer("bob", await people.ids())
    as_law = frozenset({"law"})
    await write(store, lambda ask: replace(ask, votes=(replace(ask.votes[0], roles=as_law),)))
    await people.answer("bob", await people.ids())
    assert people.done == []


async def test_other_arguments_do_not_count(store: Store, office: MakeOffice) -> None:
    people = office()
    await people.say("ann", "rows")
    edited = {"approved": True, "editedArgs": {"n": "all"}}
    await people.answer("bob", await people.ids(), edited)
    (ask,) = await people.rows()
    digest = ask.votes[0].args_digest
    await people.answer("cy", await people.ids())
    # cy agreed to the arguments as they were proposed; now it is to be those that bob changed.
    await write(store, lambda ask: replace(ask, votes=(replace(ask.votes[0], args_digest=digest),)))
    await people.answer("bob", await people.ids(), edited)
    assert people.done == []


@pytest.mark.parametrize("history", [False, True])
async def test_a_forged_answer_that_waits_for_others_does_not_count(
    store: Store, office: MakeOffice, history: bool
) -> None:
    owners = {"delete_rows": "cy", "delete_logs": "bob"}
    people = office(approvals=lambda it: ApprovalRule("one", (owners[str(it.tool)],)))
    await people.say("ann", "rows logs")
    answered = InterruptStatus.ANSWERED

    def forge(ask: Interrupt) -> Interrupt:
        entry = AuditEntry(answered, ask.audit[-1].at, "cy", "agui", "one")
        audit = (*ask.audit, entry) if history else ask.audit
        return replace(ask, status=answered, answer=YES, audit=audit)

    await write(store, forge)
    assert await faults(store) != []
    rows, logs = await people.ids()
    event = await people.answer("bob", [logs])
    assert people.done == []
    assert event["outcome"]["type"] == "interrupt"
    await people.answer("cy", [rows])
    assert sorted(people.done) == ["logs", "rows"]


@pytest.mark.parametrize("name", STORES)
async def test_votes_from_before_there_were_keys_count(name: str, tmp_path: Path) -> None:
    address = STORES[name](tmp_path)
    for who, keys in (("cy", None), ("bob", [KEY])):
        store = await open_store(address)
        people = Office(always(TWO), bridge=Bridge(store, audit_keys=keys))
        if who == "cy":
            await people.say("ann", "rows")
        await people.answer(who, await people.ids())
        await people.bridge.aclose()
    assert people.done == ["rows"]


CHANGED: dict[str, Forgery] = {
    "approval rule": lambda ask: replace(ask, rule=replace(TWO, quorum=1)),
    "response schema": lambda ask: replace(ask, response_schema={"type": "object"}),
    "decisions": lambda ask: replace(ask, allowed=("approve",)),
    "joined": lambda ask: replace(ask, joined_by=("eve",)),
    "votes": lambda ask: replace(ask, votes=ask.votes[1:]),
    "vote of dan": forged,
    "asker": lambda ask: replace(ask, asked_by="eve"),
    "message": lambda ask: replace(ask, message="Read rows?"),
    "answer": lambda ask: replace(ask, answer=RecordedAnswer("cancelled", None)),
    "status": lambda ask: replace(
        ask, audit=(*ask.audit[:-1], replace(ask.audit[-1], status=InterruptStatus.CANCELLED))
    ),
    "no row tells": lambda ask: replace(ask, audit=(*ask.audit, ask.audit[-1])),
    "lost entry": lambda ask: replace(ask, audit=ask.audit[:-1]),
}
"""By what `verify` says: what somebody without a key changes."""


@pytest.mark.parametrize("said", CHANGED)
async def test_a_change_of_what_was_decided_is_found(
    store: Store, office: MakeOffice, said: str
) -> None:
    people = office()
    await people.say("ann", "rows")
    for who in ("bob", "cy"):
        await people.answer(who, await people.ids())
    await write(store, CHANGED[said])
    found = await faults(store)
    assert any(said in fault for fault in found), found


async def test_a_rule_that_is_weakened_for_one_answer_and_put_back_is_found(
    store: Store, office: MakeOffice
) -> None:
    people = office()
    await people.say("ann", "rows")
    await write(store, lambda ask: replace(ask, rule=replace(TWO, quorum=1)))
    await people.answer("bob", await people.ids())
    await write(store, lambda ask: replace(ask, rule=TWO))
    assert people.done == ["rows"]
    found = await faults(store)
    assert any("approval rule" in fault for fault in found), found
