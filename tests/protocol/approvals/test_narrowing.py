"""What an agent's wish and an escalation make of a rule, and which rules nobody can satisfy."""

from __future__ import annotations

import itertools

import pytest

from agui_bridge.errors import AgentMistake
from agui_bridge.frozen import replace
from agui_bridge.protocol.approvals import why_not
from agui_bridge.protocol.threads.approval_rule import (
    ApprovalRule,
    Escalation,
    Remember,
    escalated,
    lacks_approvers,
    narrowed,
    strictest,
)
from agui_bridge.protocol.threads.records import Interrupt, Principal


def test_a_rule_without_a_wish_stays_as_it_is() -> None:
    rule = ApprovalRule(approvers=("bob",))
    assert narrowed(rule, None, None) is rule
    assert narrowed(None, None, None) is None


def test_a_wish_is_one_group_more_that_whoever_answers_must_be_in() -> None:
    rule = ApprovalRule("r", ("role:dba",), 2)
    assert narrowed(rule, ["bob"], 1) == ApprovalRule("r", ("role:dba",), 2, within=(("bob",),))
    assert narrowed(rule, ["bob"], 3) == ApprovalRule("r", ("role:dba",), 3, within=(("bob",),))
    assert narrowed(None, ["bob"], None) == ApprovalRule(within=(("bob",),))


def test_an_escalation_lets_more_people_answer() -> None:
    step = Escalation(60.0, ("boss",))
    assert escalated(ApprovalRule(approvers=("bob",), within=(("bob",),)), step) == ApprovalRule(
        approvers=("bob", "boss"), within=(("bob", "boss"),)
    )
    assert escalated(ApprovalRule(each_of=(("bob",), ("cy",))), step).each_of == (
        ("bob", "boss"),
        ("cy", "boss"),
    )


def test_an_escalation_never_makes_fewer() -> None:
    assert escalated(ApprovalRule(), Escalation(60.0, ("boss",))) == ApprovalRule()
    assert escalated(ApprovalRule(approvers=("bob",)), Escalation(60.0)) == ApprovalRule(
        approvers=("bob",)
    )


@pytest.mark.parametrize(
    ("rule", "askers", "lacks"),
    [
        (ApprovalRule(quorum=9), ["ann"], False),
        (ApprovalRule(approvers=("ann",)), ["ann"], False),
        (ApprovalRule(approvers=("ann",), self_approval=False), ["ann"], True),
        (ApprovalRule(approvers=("ann", "bob"), self_approval=False), ["ann"], False),
        (ApprovalRule(approvers=("ann", "bob"), self_approval=False), ["ann", "bob"], True),
        (ApprovalRule(approvers=("ann",), quorum=2), [], True),
        (ApprovalRule(approvers=("ann", "role:dba"), quorum=5), [], False),
        (ApprovalRule(each_of=(("ann",), ("ann",))), [], True),
        (ApprovalRule(approvers=("ann",), within=(("role:dba",),)), [], False),
        (ApprovalRule(approvers=("ann",), within=(("bob",),)), [], True),
        (ApprovalRule(within=(("bob",),), quorum=2), [], True),
    ],
)
def test_a_rule_that_nobody_can_satisfy_is_found_out(
    rule: ApprovalRule, askers: list[str], lacks: bool
) -> None:
    assert (lacks_approvers(rule, askers) is not None) is lacks


@pytest.mark.parametrize(
    "fields",
    [
        {"approvers": "bob"},
        {"approvers": ("",)},
        {"approvers": ("role:",)},
        {"approvers": (7,)},
        {"quorum": 0},
        {"quorum": True},
        {"quorum": "2"},
        {"each_of": (("bob",), ())},
        {"each_of": ("bob",)},
        {"within": ((),)},
        {"self_approval": "no"},
        {"declines": "some"},
        {"notify": "ops"},
    ],
)
def test_a_wrong_field_of_a_rule_is_named(fields: dict[str, object]) -> None:
    (name,) = fields
    with pytest.raises(AgentMistake, match=f"^ApprovalRule.{name} "):
        ApprovalRule(**fields)  # type: ignore[arg-type]


def ruled(rule: ApprovalRule) -> Interrupt:
    return Interrupt("i", "b", 0, "n", "tool_call", rule=rule, asked_by="ann")


def some_rules() -> list[ApprovalRule]:
    named: list[tuple[str, ...]] = [(), ("ann", "bob"), ("bob", "role:dba"), ("cay",)]
    return [
        ApprovalRule(
            approvers=approvers, each_of=each_of, self_approval=own, within=within, quorum=quorum
        )
        for approvers in named
        for each_of in ((), (("bob",), ("cay", "role:dba")))
        for own in (True, False)
        for within, quorum in (((), 1), ((("ann", "bob", "cay"),), 2))
    ]


def test_what_the_rules_of_several_calls_want_lets_answer_whom_each_of_them_does() -> None:
    people = [
        Principal("s", actor, roles=frozenset(roles))
        for actor in ("ann", "bob", "cay", "dan")
        for roles in ((), ("dba",))
    ]
    for one, other in itertools.product(some_rules(), repeat=2):
        both = strictest([one, None, other])
        assert both is not None
        for person in people:
            each = [why_not(ruled(rule), person) is None for rule in (one, other)]
            assert (why_not(ruled(both), person) is None) == all(each), (one, other, person)
        assert both.votes >= max(one.votes, other.votes)
        assert set(both.each_of) == {*one.each_of, *other.each_of}


def test_what_one_rule_alone_has_loosens_nothing_of_the_other() -> None:
    step = Escalation(60.0, ("boss",), ("mail",))
    one = ApprovalRule("one", escalate=(step,), declines="all", remember=(Remember("thread"),))
    assert strictest([]) is None
    assert strictest([None]) is None
    assert strictest([one, None, one]) == one
    both = strictest([one, ApprovalRule("other", escalate=(replace(step, after=9.0),))])
    assert both is not None
    assert (both.name, both.declines, both.remember) == ("one and other", "one", ())
    assert [(s.after, s.approvers, s.notify) for s in both.escalate] == [
        (9.0, (), ("mail",)),
        (60.0, (), ("mail",)),
    ]
