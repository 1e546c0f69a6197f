"""Answers that wait for others of their kind, and when there are enough.

Source: docs/contract.md, row 17b and "Votes".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from agui_bridge.protocol.answers.decisions import Answer, Approve, Respond, decide
from agui_bridge.protocol.approvals.entitlement import is_one_of
from agui_bridge.protocol.json_values import canonical, same_json
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer, Vote

__all__ = [
    "agreed",
    "args_digest",
    "cast",
    "edited_so_far",
    "is_enough",
    "needs_votes",
    "same_answer",
    "stands",
    "vote_to_agree_with",
]


def needs_votes(ask: Interrupt) -> bool:
    """Whether one answer is not always enough for a question.

    Args:
        ask: the question.
    """
    return ask.rule is not None and (ask.rule.quorum > 1 or bool(ask.rule.each_of))


def args_digest(ask: Interrupt, answer: RecordedAnswer) -> str | None:
    """What an answer agrees to, so that others can agree to the same; None for a decline.

    Of an approval it is the arguments that would be executed, of another question the answer.

    Args:
        ask: the question.
        answer: one that was checked.
    """
    match decide(ask, answer, expired=False):
        case Approve(args=args):
            agreed_to = ["approve", dict(args)]
        case Respond(result=result):
            agreed_to = ["respond", result]
        case Answer(payload=payload):
            agreed_to = ["answer", payload]
        case _:
            return None
    return hashlib.sha256(canonical(agreed_to).encode()).hexdigest()


def cast(ask: Interrupt, vote: Vote) -> tuple[Vote, ...]:
    """The votes of a question once one more has come.

    Of each actor the last vote counts. Whoever agrees to something else than the others did before
    resets their votes: nobody has agreed to arguments that they did not see.

    Args:
        ask: the question.
        vote: the one that came.
    """
    kept = (
        other
        for other in ask.votes
        if other.actor != vote.actor
        and (None in (other.args_digest, vote.args_digest) or other.args_digest == vote.args_digest)
    )
    return (*kept, vote)


def is_enough(rule: ApprovalRule, votes: Sequence[Vote], vote: Vote) -> bool:
    """Whether a question is answered by its last vote.

    Args:
        rule: the question's.
        votes: all that count, the last one among them.
        vote: the last one.
    """
    if vote.args_digest is None and rule.declines == "one":
        return True
    alike = [other for other in votes if other.args_digest == vote.args_digest]
    return len(alike) >= rule.votes and _each_has_one(rule.each_of, alike)


def stands(ask: Interrupt, actor: str, answer: RecordedAnswer) -> bool:
    """Whether somebody has given this very vote already, and it still counts.

    Args:
        ask: the question.
        actor: who would vote.
        answer: what they would say.
    """
    return any(vote.actor == actor and same_answer(vote.answer, answer) for vote in ask.votes)


def agreed(ask: Interrupt, answer: RecordedAnswer) -> tuple[Vote, ...]:
    """The votes that an answer was made of, in their order; none where one person gave it.

    Args:
        ask: the question.
        answer: the one that counts.
    """
    if not ask.votes:
        return ()
    digest = args_digest(ask, answer)
    return tuple(vote for vote in ask.votes if vote.args_digest == digest)


def same_answer(answer: RecordedAnswer, other: RecordedAnswer) -> bool:
    """Whether two answers are the same to the letter, as JSON tells values apart.

    Args:
        answer: the one.
        other: the other.
    """
    return answer.status == other.status and same_json(answer.payload, other.payload)


def edited_so_far(ask: Interrupt) -> Mapping[str, Json] | None:
    """The arguments that were voted for, where somebody changed them; else None."""
    vote = vote_to_agree_with(ask)
    edited = vote.answer.payload.get("editedArgs") if vote is not None else None
    return edited if isinstance(edited, Mapping) else None


def vote_to_agree_with(ask: Interrupt) -> Vote | None:
    """The first vote for a call; all that approve are for the same arguments."""
    return next((vote for vote in ask.votes if vote.args_digest is not None), None)


def _each_has_one(groups: Sequence[Iterable[str]], votes: Sequence[Vote]) -> bool:
    """Whether each group has a voter who stands for no other group."""
    fitting = [
        [at for at, vote in enumerate(votes) if is_one_of(group, vote.actor, vote.roles)]
        for group in groups
    ]
    stands_for: dict[int, int] = {}

    def place(group: int, tried: set[int]) -> bool:
        for voter in fitting[group]:
            if voter not in tried:
                tried.add(voter)
                if voter not in stands_for or place(stands_for[voter], tried):
                    stands_for[voter] = group
                    return True
        return False

    return all(place(group, set()) for group in range(len(fitting)))
