"""Who may answer a question, by its rule, and who may take it back.

Source: docs/contract.md, row 15a, A12, A13 and S18.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.answers.decisions import Answer, Approve, Respond, decide
from agui_bridge.protocol.json_values import canonical, same_json
from agui_bridge.protocol.threads.approval_rule import ROLE, ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, RecordedAnswer, Vote


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not answer a question.

    Attributes:
        code: of the table in `errors`.
        message: for people: why, and who may.
    """

    code: Literal["NOT_AN_APPROVER", "SELF_APPROVAL"]
    message: str


def why_not(ask: Interrupt, principal: Principal) -> Refusal | None:
    """Say why somebody may not answer a question; None where they may.

    Whoever asked for the run may withdraw it all the same; see `may_withdraw`.

    Args:
        ask: the question.
        principal: who would answer it; that its scope is theirs to see is known already.
    """
    rule = ask.rule
    if rule is None:
        return None
    if not rule.self_approval and ask.was_asked_by(principal.actor):
        return Refusal(
            "SELF_APPROVAL",
            f"{principal.actor} asked for this, and may not answer it; {wording(ask)} may. "
            "Whoever asked may cancel it.",
        )
    if not _may_answer(rule, principal.actor, principal.roles):
        return Refusal("NOT_AN_APPROVER", f"Only {wording(ask)} may answer this.")
    return None


def may_withdraw(ask: Interrupt, principal: Principal) -> bool:
    """Whether somebody may cancel a question even where they may not answer it.

    Args:
        ask: the question.
        principal: who would cancel it.
    """
    return ask.was_asked_by(principal.actor)


def why_not_stop(asks: Iterable[Interrupt], principal: Principal, now: float) -> Refusal | None:
    """Say why somebody may not stop a thread that waits with questions; None where they may.

    To stop it withdraws every question that has not expired, and the answers that are held.

    Args:
        asks: the questions of the pause.
        principal: who would stop it; that its scope is theirs to see is known already.
        now: the store's time.
    """
    for ask in asks:
        if ask.expired(now) or may_withdraw(ask, principal) or why_not(ask, principal) is None:
            continue
        return Refusal(
            "NOT_AN_APPROVER",
            "The thread waits for an answer, and this would withdraw its question; only "
            f"{wording(ask)} may, or whoever asked for it.",
        )
    return None


def is_one_of(group: Iterable[str], actor: str, roles: Collection[str]) -> bool:
    """Whether somebody is among approvers.

    Args:
        group: actors, and roles as `role:NAME`.
        actor: their name.
        roles: their roles.
    """
    return any(
        name[len(ROLE) :] in roles if name.startswith(ROLE) else name == actor for name in group
    )


def wording(ask: Interrupt) -> str:
    """Who may answer a question, in words.

    Args:
        ask: the question.
    """
    rule = ask.rule or ApprovalRule()
    barred = () if rule.self_approval else (ask.asked_by, *ask.joined_by)
    groups = [(*rule.approvers, *(name for group in rule.each_of for name in group)), *rule.within]
    said = [
        ", ".join(dict.fromkeys(name for name in group if name not in barred))
        for group in groups
        if group
    ]
    anyone = "anyone else" if barred else "anyone"
    return " who is one of ".join(said if groups[0] else [anyone, *said])


def _may_answer(rule: ApprovalRule, actor: str, roles: Collection[str]) -> bool:
    groups = [group for group in (rule.approvers, *rule.each_of) if group]
    named = not groups or any(is_one_of(group, actor, roles) for group in groups)
    return named and all(is_one_of(group, actor, roles) for group in rule.within)


# --- answers that wait for others of their kind, and when there are enough ---
#
# Source: docs/contract.md, row 17b and "Votes".


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


# --- what clients are told of a question's rule and votes, and which questions are theirs ---
#
# Source: docs/contract.md, W29 and W30.


def public_approval(ask: Interrupt) -> dict[str, Json] | None:
    """What stands in `metadata.agui_bridge.approval`; None where there is no rule.

    Args:
        ask: the question.
    """
    rule = ask.rule
    if rule is None:
        return None
    told: dict[str, Any] = {
        "approvers": list(rule.approvers),
        "quorum": rule.votes,
        "selfApproval": rule.self_approval,
        "votes": len([vote for vote in ask.votes if vote.args_digest is not None]),
        "votedBy": [vote.actor for vote in ask.votes],
    }
    if rule.each_of:
        told["eachOf"] = [list(group) for group in rule.each_of]
    if rule.within:
        told["within"] = [list(group) for group in rule.within]
    if ask.asked_by is not None:
        told["askedBy"] = ask.asked_by
    edited = _edited(ask)
    if edited is not None:
        told["editedArgs"] = edited
    return told


def told_to(asks: Sequence[Interrupt], principal: Principal) -> Sequence[Interrupt]:
    """The open questions that somebody is told of: theirs to answer, or all where none is.

    Clients refuse to send a resume that leaves out a question which they were told of, and some
    show only the first one: what is others' to answer would keep them from answering their own.

    Args:
        asks: the questions that can be answered.
        principal: who is told.
    """
    own = [
        ask
        for ask in asks
        if why_not(ask, principal) is None
        and all(vote.actor != principal.actor for vote in ask.votes)
    ]
    return own or asks


def _edited(ask: Interrupt) -> Json:
    """The arguments that were agreed to so far, where somebody changed them."""
    for vote in ask.votes:
        payload = vote.answer.payload
        if vote.args_digest is not None and isinstance(payload, Mapping):
            return payload.get("editedArgs") if ask.tool_call is not None else None
    return None
