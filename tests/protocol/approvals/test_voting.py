"""When enough people have agreed, and to what."""

from __future__ import annotations

import pytest

from agui_bridge.protocol.approvals import args_digest, cast, is_enough
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import RecordedAnswer, Vote
from tests.protocol.contract.admission_by_whom import ruled

TWO = ApprovalRule(quorum=2)


def vote(actor: str, digest: str | None = "d", *roles: str) -> Vote:
    return Vote(actor, frozenset(roles), RecordedAnswer("resolved"), digest, 0.0)


def test_what_would_be_executed_is_agreed_to_not_how_it_is_said() -> None:
    ask = ruled("a", TWO)
    said = [
        {"approved": True},
        {"approved": True, "reason": "fine"},
        {"approved": True, "editedArgs": {"n": 1}},
        {"approved": True, "editedArgs": {"n": True}},
        {"approved": True, "editedArgs": {"n": 2}},
    ]
    digests = [args_digest(ask, RecordedAnswer("resolved", payload)) for payload in said]

    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests)) == 3
    assert None not in digests


def test_a_decline_and_a_cancel_agree_to_nothing() -> None:
    ask = ruled("a", TWO)
    assert args_digest(ask, RecordedAnswer("resolved", {"approved": False})) is None
    assert args_digest(ask, RecordedAnswer("cancelled")) is None


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ([("bob", "d")], ("cy", "d"), [("bob", "d"), ("cy", "d")]),
        ([("bob", "d")], ("bob", "d"), [("bob", "d")]),
        ([("bob", "d"), ("cy", "d")], ("ann", "e"), [("ann", "e")]),
        ([("bob", "d"), ("cy", None)], ("ann", "e"), [("cy", None), ("ann", "e")]),
        ([("bob", "d")], ("cy", None), [("bob", "d"), ("cy", None)]),
        ([("bob", "d")], ("bob", None), [("bob", None)]),
    ],
)
def test_a_vote_takes_the_place_of_those_that_it_overrules(
    before: list[tuple[str, str | None]],
    new: tuple[str, str | None],
    after: list[tuple[str, str | None]],
) -> None:
    ask = ruled("a", TWO, *(vote(*each) for each in before))
    assert [(v.actor, v.args_digest) for v in cast(ask, vote(*new))] == after


@pytest.mark.parametrize(
    ("groups", "voters", "enough"),
    [
        ([["bob"], ["cy"]], [("bob",), ("cy",)], True),
        ([["bob"], ["bob", "cy"]], [("bob",), ("cy",)], True),
        ([["bob", "cy"], ["bob"]], [("bob",), ("cy",)], True),
        ([["role:a"], ["role:b"]], [("bob", "a", "b"), ("cy",)], False),
        ([["role:a"], ["role:b"]], [("bob", "a", "b"), ("cy", "a")], True),
        ([["role:a"], ["role:b"]], [("bob", "a"), ("cy", "a")], False),
        ([["role:a"], ["role:b"], ["cy"]], [("bob", "a", "b"), ("cy", "a"), ("dan", "b")], True),
        ([["role:a"], ["role:a"]], [("bob", "a")], False),
    ],
)
def test_each_group_needs_somebody_of_its_own(
    groups: list[list[str]], voters: list[tuple[str, ...]], enough: bool
) -> None:
    rule = ApprovalRule(each_of=tuple(map(tuple, groups)))
    votes = [vote(actor, "d", *roles) for actor, *roles in voters]

    assert is_enough(rule, votes, votes[-1]) is enough


def test_declines_are_counted_where_all_must_decline() -> None:
    rule = ApprovalRule(quorum=2, declines="all")
    votes = [vote("bob", "d"), vote("cy", None)]

    assert not is_enough(rule, votes, votes[-1])
    assert is_enough(rule, [*votes, vote("ann", None)], vote("ann", None))
    assert is_enough(TWO, votes, votes[-1])
