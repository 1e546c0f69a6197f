"""Who may answer a question, by the bridge's rules: several people on one thread."""

from __future__ import annotations

import asyncio

import pytest

from agui_bridge import ApprovalRule, Principal
from agui_bridge.approvals import Match, Question, RuleList
from agui_bridge.protocol.dialects import CHAT
from tests.bridge.several_people import Office, always, shown


async def test_the_rule_is_asked_for_once_and_stored_with_the_question() -> None:
    asked: list[Question] = []

    async def by_dba(question: Question) -> ApprovalRule:
        await asyncio.sleep(0)
        asked.append(question)
        return ApprovalRule("dba", ("role:dba",))

    office = Office(by_dba)

    event = await office.say("ann", "rows")
    for _ in range(3):
        await office.answer("eve", await office.ids())

    assert asked == [
        Question("team", "office", "t", "ann", "tool_call", None, "delete_rows", {"n": "rows"})
    ]
    (row,) = await office.rows()
    assert (row.asked_by, row.rule) == ("ann", ApprovalRule("dba", ("role:dba",)))
    assert shown(event) == [
        {
            "approvers": ["role:dba"],
            "quorum": 1,
            "selfApproval": True,
            "votes": 0,
            "votedBy": [],
            "askedBy": "ann",
        }
    ]


async def test_who_may_not_answer_is_refused_and_the_question_stays_for_who_may() -> None:
    office = Office(always(ApprovalRule(approvers=("role:dba",), self_approval=False)))
    await office.say("bob", "rows")
    asks = await office.ids()

    refusals = [await office.answer(who, asks) for who in ("eve", "bob")]
    done = await office.answer("cy", asks)

    assert [event["code"] for event in refusals] == ["NOT_AN_APPROVER", "SELF_APPROVAL"]
    assert "role:dba" in refusals[0]["message"]
    assert done["outcome"]["type"] == "success"
    assert (office.done, office.told) == (["rows"], [("cy", ("cy",))])
    (row,) = await office.rows()
    assert [(entry.actor, entry.via) for entry in row.audit[:2]] == [
        ("agent", None),
        ("cy", "agui"),
    ]


@pytest.mark.parametrize("way", ["cancel", "stop"])
async def test_who_asked_may_always_withdraw(way: str) -> None:
    office = Office(always(ApprovalRule(approvers=("bob",), self_approval=False)))
    await office.say("ann", "rows")
    asks = await office.ids()

    if way == "cancel":
        assert (await office.answer("eve", asks, None))["code"] == "NOT_AN_APPROVER"
        assert (await office.answer("ann", asks, None))["outcome"]["type"] == "success"
    else:
        await office.bridge.stop("office", "t", principal=Principal("team", "ann"))

    late = await office.answer("bob", asks)
    assert (late["code"], office.done) == ("INTERRUPT_ALREADY_ANSWERED", [])


async def test_two_questions_for_two_people_are_answered_by_both_with_whole_resumes() -> None:
    rules = RuleList(
        [
            (Match(tool="delete_rows"), ApprovalRule(approvers=("bob",))),
            (Match(tool="delete_*"), ApprovalRule(approvers=("ann",))),
        ]
    )
    office = Office(rules)
    first = await office.say("ann", "rows logs")
    rows, logs = await office.ids()

    assert [each["id"] for each in first["outcome"]["interrupts"]] == [logs]
    after = await office.answer("ann", [logs])
    assert [each["id"] for each in after["outcome"]["interrupts"]] == [rows]
    assert (await office.answer("ann", [logs]))["outcome"] == after["outcome"]
    assert office.done == []
    await office.answer("bob", [rows])

    assert (office.done, office.told) == (["rows", "logs"], [("bob", ("bob",)), ("ann", ("ann",))])


async def test_a_dialect_that_shows_one_question_shows_each_person_their_own() -> None:
    office = Office(RuleList([(Match(tool="delete_rows"), ApprovalRule(approvers=("bob",)))]))
    await office.say("ann", "rows logs")
    rows, logs = await office.ids()

    sees = {who: await office.answer(who, ["none"], dialect=CHAT) for who in ("eve", "bob")}

    assert {event["code"] for event in sees.values()} == {"INTERRUPT_NOT_FOUND"}
    held = await office.answer("eve", [logs], dialect=CHAT)
    assert [each["id"] for each in held["outcome"]["interrupts"]] == [rows]
    await office.answer("bob", [rows], dialect=CHAT)
    assert office.done == ["rows", "logs"]


async def test_as_many_as_the_rule_wants_approve_and_the_policy_is_told_of_all() -> None:
    office = Office(always(ApprovalRule("two", quorum=2, self_approval=False)))
    await office.say("ann", "rows")
    asks = await office.ids()

    voted = await office.answer("bob", asks)
    again = await office.answer("bob", asks)
    assert [(each["votes"], each["votedBy"]) for each in shown(voted)] == [(1, ["bob"])]
    assert (shown(again), office.done) == (shown(voted), [])
    await office.answer("cy", asks)

    assert (office.done, office.told) == (["rows"], [("cy", ("bob", "cy"))])
    (row,) = await office.rows()
    assert [(entry.actor, entry.event, entry.rule) for entry in row.audit] == [
        ("agent", None, None),
        ("bob", "voted", "two"),
        ("cy", None, "two"),
        ("cy", None, None),
    ]
    # Also who gave the first vote is told that it is done.
    assert (await office.answer("bob", asks))["outcome"]["type"] == "success"
    assert office.done == ["rows"]


async def test_an_edit_resets_the_votes_of_others() -> None:
    office = Office(always(ApprovalRule(quorum=2)))
    await office.say("ann", "rows")
    asks = await office.ids()
    edit = {"approved": True, "editedArgs": {"n": "half"}}

    await office.answer("bob", asks)
    edited = await office.answer("cy", asks, edit)
    assert [(each["votedBy"], each["editedArgs"]) for each in shown(edited)] == [
        (["cy"], {"n": "half"})
    ]
    await office.answer("bob", asks, edit)

    assert (office.done, office.told) == (["half"], [("bob", ("cy", "bob"))])
    (row,) = await office.rows()
    assert [entry.event for entry in row.audit if entry.event] == ["voted", "voted", "votes_reset"]


async def test_one_decline_closes_or_as_many_as_must_approve() -> None:
    for declines, first in (("one", "success"), ("all", "interrupt")):
        office = Office(always(ApprovalRule(quorum=2, declines=declines)))  # type: ignore[arg-type]
        await office.say("ann", "rows")
        asks = await office.ids()
        await office.answer("ann", asks)

        event = await office.answer("bob", asks, {"approved": False})

        assert event["outcome"]["type"] == first
        if declines == "all":
            event = await office.answer("cy", asks, {"approved": False})
        assert (event["outcome"]["type"], office.done) == ("success", [])
