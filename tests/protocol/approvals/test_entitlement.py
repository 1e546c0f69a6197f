"""Who may answer a question, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agui_bridge.protocol.approvals import (
    may_withdraw,
    why_not,
    why_not_stop,
    wording,
)
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, Principal

DBA = frozenset({"dba"})
NOW = 1000.0


def asked(rule: ApprovalRule | None, *, by: str | None = "ann", joined: str = "") -> Interrupt:
    return Interrupt(
        "i", "b", 0, "n", "tool_call", asked_by=by, joined_by=(joined,) if joined else (), rule=rule
    )


@pytest.mark.parametrize(
    ("rule", "who", "code"),
    [
        (None, Principal(actor="ann"), None),
        (ApprovalRule(), Principal(actor="ann"), None),
        (ApprovalRule(), Principal("elsewhere", "eve"), None),
        (ApprovalRule(approvers=("bob",)), Principal(actor="bob"), None),
        (ApprovalRule(approvers=("bob",)), Principal(actor="Bob"), "NOT_AN_APPROVER"),
        (ApprovalRule(approvers=("bob",)), Principal(actor="ann"), "NOT_AN_APPROVER"),
        (ApprovalRule(approvers=("role:dba",)), Principal(actor="x", roles=DBA), None),
        (ApprovalRule(approvers=("role:dba",)), Principal(actor="dba"), "NOT_AN_APPROVER"),
        (ApprovalRule(approvers=("role:dba",)), Principal(actor="role:dba"), "NOT_AN_APPROVER"),
        (ApprovalRule(approvers=("dba",)), Principal(actor="x", roles=DBA), "NOT_AN_APPROVER"),
        (ApprovalRule(self_approval=False), Principal(actor="ann"), "SELF_APPROVAL"),
        (ApprovalRule(self_approval=False), Principal("elsewhere", "ann"), "SELF_APPROVAL"),
        (ApprovalRule(self_approval=False), Principal(actor="cy"), "SELF_APPROVAL"),
        (ApprovalRule(self_approval=False), Principal(actor="bob"), None),
        (ApprovalRule(approvers=("ann",), self_approval=False), Principal(), "NOT_AN_APPROVER"),
        (ApprovalRule(each_of=(("bob",), ("role:dba",))), Principal(actor="bob"), None),
        (ApprovalRule(each_of=(("bob",), ("role:dba",))), Principal(), "NOT_AN_APPROVER"),
        (
            ApprovalRule(approvers=("bob",), within=(("role:dba",),)),
            Principal(actor="bob"),
            "NOT_AN_APPROVER",
        ),
        (
            ApprovalRule(approvers=("bob",), within=(("role:dba",),)),
            Principal(actor="bob", roles=DBA),
            None,
        ),
        (ApprovalRule(within=(("bob",), ("ann",))), Principal(actor="bob"), "NOT_AN_APPROVER"),
    ],
)
def test_who_may_answer(rule: ApprovalRule | None, who: Principal, code: str | None) -> None:
    refusal = why_not(asked(rule, joined="cy"), who)

    assert (refusal and refusal.code) == code


def test_a_refusal_says_who_may() -> None:
    rule = ApprovalRule(approvers=("role:dba", "bob"), self_approval=False)

    own = why_not(asked(rule), Principal(actor="ann"))
    other = why_not(asked(rule), Principal(actor="eve"))

    assert own is not None and other is not None
    assert own.message == (
        "ann asked for this, and may not answer it; role:dba, bob may. Whoever asked may cancel it."
    )
    assert other.message == "Only role:dba, bob may answer this."


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (ApprovalRule(approvers=("ann", "bob")), "ann, bob"),
        (ApprovalRule(approvers=("ann", "bob"), self_approval=False), "bob"),
        (ApprovalRule(self_approval=False), "anyone else"),
        (ApprovalRule(within=(("bob",),)), "anyone who is one of bob"),
        (
            ApprovalRule(each_of=(("bob",), ("role:law", "bob")), within=(("role:eu",),)),
            "bob, role:law who is one of role:eu",
        ),
    ],
)
def test_who_may_is_said_in_words(rule: ApprovalRule, said: str) -> None:
    assert wording(asked(rule)) == said


def test_whoever_asked_may_withdraw_and_nobody_else() -> None:
    ask = asked(ApprovalRule(approvers=("bob",)), joined="cy")

    assert [may_withdraw(ask, Principal(actor=a)) for a in ("ann", "cy", "bob")] == [
        True,
        True,
        False,
    ]
    assert not may_withdraw(asked(None, by=None), Principal(actor="None"))


BOB = asked(ApprovalRule(approvers=("bob",)), joined="cy")
FREE = asked(None)
OTHERS = asked(ApprovalRule(self_approval=False))


@pytest.mark.parametrize(
    ("asks", "who", "may"),
    [
        ((), "eve", True),
        ((FREE,), "eve", True),
        ((BOB,), "eve", False),
        ((BOB,), "bob", True),
        ((BOB,), "ann", True),
        ((BOB,), "cy", True),
        ((OTHERS,), "ann", True),
        ((OTHERS,), "eve", True),
        ((FREE, BOB), "eve", False),
        ((BOB, FREE), "bob", True),
        ((replace(BOB, status=InterruptStatus.ANSWERED),), "eve", False),
        ((replace(BOB, expires_at=NOW),), "eve", True),
        ((replace(BOB, expires_at=NOW + 1),), "eve", False),
        ((replace(BOB, expires_at=NOW), FREE), "eve", True),
        ((replace(FREE, expires_at=NOW), BOB), "eve", False),
    ],
)
def test_a_stop_withdraws_all_that_has_not_expired(
    asks: tuple[Interrupt, ...], who: str, may: bool
) -> None:
    refusal = why_not_stop(asks, Principal(actor=who), NOW)

    assert (refusal is None) is may
    assert refusal is None or refusal.code == "NOT_AN_APPROVER"
