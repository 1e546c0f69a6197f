"""One question answered alone, by those who see it, and what they are told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agui_bridge import FunctionRun, Principal
from agui_bridge.errors import Refused
from agui_bridge.inbox.reference import Reference
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from tests.inbox.office import ANN, BOB, NO, YES, Office

KEY = "a key of sixteen bytes"


async def test_one_question_is_answered_while_the_other_stays_open() -> None:
    office = Office()
    pay, post = await office.ask()
    first = await office.bridge.answer(pay, YES, principal=ANN)
    assert (first.status, first.code, office.done) == ("answered", None, [])
    last = await office.bridge.answer(post, YES, principal=BOB)
    assert (last.status, last.code, office.done) == ("resolved", None, ["pay", "post"])
    assert [e.actor for e in last.row.interrupt.audit] == ["agent", "bob", "bob"]
    now = await office.bridge.answer(pay, YES, principal=ANN)
    assert [e.actor for e in now.row.interrupt.audit[:2]] == ["agent", "ann"]


async def test_an_identical_answer_has_the_same_outcome_again() -> None:
    office = Office()
    pay, post = await office.ask()
    held = [await office.bridge.answer(pay, YES, principal=who) for who in (ANN, ANN, BOB)]
    assert {each.status for each in held} == {"answered"}
    ended = [await office.bridge.answer(post, NO, principal=who) for who in (BOB, BOB, ANN)]
    assert {(each.status, each.code) for each in ended} == {("resolved", None)}
    assert office.done == ["pay"]


async def test_another_answer_is_refused_and_says_who_decided() -> None:
    office = Office()
    pay, post = await office.ask()
    await office.bridge.answer(pay, YES, principal=BOB)
    for _ in range(2):
        refused = await office.bridge.answer(pay, NO, principal=ANN)
        assert (refused.status, refused.code) == ("refused", "INTERRUPT_ALREADY_ANSWERED")
        assert refused.message is not None and "by bob" in refused.message
        await office.bridge.answer(post, YES, principal=ANN)
    assert office.done == ["pay", "post"]


async def test_a_cancel_leaves_the_tool_undone() -> None:
    office = Office()
    pay, post = await office.ask()
    await office.bridge.answer(pay, cancel=True, principal=ANN)
    await office.bridge.answer(post, YES, principal=ANN)
    again = await office.bridge.answer(pay, cancel=True, principal=ANN)
    assert (again.status, office.done) == ("cancelled", ["post"])


async def test_an_answer_of_the_wrong_shape_is_refused_and_the_question_stays_open() -> None:
    office = Office()
    pay, _ = await office.ask()
    wrong: list[Any] = [None, {}, {"approved": "true"}, [], "yes"]
    for payload in wrong:
        refused = await office.bridge.answer(pay, payload, principal=ANN)
        assert (refused.status, refused.code) == ("refused", "INVALID_RESUME_PAYLOAD")
        assert refused.row.interrupt.is_open


@pytest.mark.parametrize("payload", [{"at": object()}, float("nan"), {1: 2}])
async def test_what_is_no_json_is_no_answer(payload: Any) -> None:
    office = Office()
    pay, _ = await office.ask()
    with pytest.raises(Refused, match="payload"):
        await office.bridge.answer(pay, payload, principal=ANN)


async def test_a_cancel_has_no_payload() -> None:
    office = Office()
    pay, _ = await office.ask()
    with pytest.raises(Refused, match="to cancel a question is to say nothing"):
        await office.bridge.answer(pay, YES, cancel=True, principal=ANN)


async def test_a_reviewer_answers_for_another_scope_and_the_run_stays_in_it() -> None:
    office = Office()
    pay, post = await office.ask()
    dora = Principal("office", "dora", reviews=("team",))
    await office.bridge.answer(pay, YES, principal=dora)
    outcome = await office.bridge.answer(post, YES, principal=dora)
    assert (outcome.status, outcome.row.key.scope) == ("resolved", "team")
    assert "Done." in await office.said(pay)
    engine = await office.bridge.open()
    assert await engine.store.list_threads("office", "office") == []


@pytest.mark.parametrize("who", [Principal("else", "ann"), Principal("else", "x", reviews=("t",))])
async def test_others_see_no_such_question(who: Principal) -> None:
    office = Office()
    pay, _ = await office.ask()
    absent = Reference(ThreadKey("team", "office", "t"), "nobody")
    for reference, asker in ((pay, who), (absent, ANN)):
        with pytest.raises(Refused, match="no such question here") as refused:
            await office.bridge.answer(reference, YES, principal=asker)
        assert refused.value.code == "INTERRUPT_NOT_FOUND"


async def test_a_link_answers_as_the_one_it_was_made_for_and_nobody_else() -> None:
    office = Office(inbox=Inbox(keys=[KEY]))
    pay, post = await office.ask()
    links = [
        office.bridge.references.write(Reference(each.key, each.interrupt, "bob", 4e9))
        for each in (pay, post)
    ]
    with pytest.raises(Refused, match="made for somebody else"):
        await office.bridge.answer(links[0], YES, principal=ANN)
    await office.bridge.answer(links[0], YES)
    outcome = await office.bridge.answer(links[1], YES, principal=BOB)
    assert {e.actor for e in outcome.row.interrupt.audit} == {"agent", "bob"}


async def test_who_waits_no_longer_is_told_that_it_is_being_carried_out() -> None:
    office = Office()
    office.may_go_on = asyncio.Event()
    pay, post = await office.ask()
    await office.bridge.answer(pay, YES, principal=ANN)
    early = await office.bridge.answer(post, YES, principal=BOB, wait=0.01)
    assert (early.status, early.code) == ("claimed", None)
    other = await office.bridge.answer(post, NO, principal=ANN, wait=0.01)
    assert (other.status, other.code) == ("refused", "INTERRUPT_ALREADY_ANSWERED")
    again = asyncio.ensure_future(office.bridge.answer(post, YES, principal=BOB))
    office.may_go_on.set()
    assert (await again).status == "resolved"
    assert office.done == ["pay", "post"]


async def test_who_waits_no_longer_is_told_of_a_result_before_the_run_ends() -> None:
    office = Office()
    office.may_go_on, office.waits = asyncio.Event(), "post"
    pay, post = await office.ask()
    await office.bridge.answer(pay, YES, principal=ANN)
    await office.bridge.answer(post, YES, principal=ANN, wait=0.01)
    async with asyncio.timeout(20):
        while (await office.bridge.answer(pay, YES, principal=ANN, wait=0.01)).status != "resolved":
            pass
    assert office.done == ["pay"]
    office.may_go_on.set()
    assert (await office.bridge.answer(post, YES, principal=ANN)).status == "resolved"


async def test_a_failed_run_has_its_code_and_has_it_again() -> None:
    office = Office()

    async def burn(run: FunctionRun) -> None:
        await run.approve("burn", {})
        raise RuntimeError("it burns")

    office.bridge.agents.clear()
    office.bridge.agent("office")(burn)
    (question,) = await office.ask()
    outcomes = [await office.bridge.answer(question, YES, principal=ANN) for _ in range(2)]
    assert {(each.status, each.code) for each in outcomes} == {("indeterminate", "AGENT_ERROR")}


async def test_all_at_once_carry_it_out_once_and_are_told_the_same() -> None:
    office = Office()
    pay, post = await office.ask()
    many = [office.bridge.answer(each, YES, principal=ANN) for each in (pay, post) * 10]
    outcomes = await asyncio.gather(*many)
    assert sorted(office.done) == ["pay", "post"]
    assert not any(each.refused for each in outcomes)
    assert {each.row.interrupt.status for each in outcomes} <= {
        InterruptStatus.ANSWERED,
        InterruptStatus.CLAIMED,
        InterruptStatus.RESOLVED,
    }
