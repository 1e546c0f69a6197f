"""What people may decide, said a second time and without the package's own words for it."""

from __future__ import annotations

from collections.abc import Iterable

from agui_bridge.protocol.contract.requests import Hold, Reject, Request
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, RecordedAnswer, Vote
from tests.model.world import Violation, exactly

__all__ = [
    "asked",
    "check_quorum",
    "check_refusal",
    "check_replay",
    "check_votes",
    "may_answer",
    "stands_for",
]


def asked(ask: Interrupt, person: Principal) -> bool:
    """Whether somebody asked for the run that asks."""
    return person.actor in (ask.asked_by, *ask.joined_by)


def may_answer(ask: Interrupt, person: Principal) -> bool:
    """Whether somebody may answer a question."""
    rule = ask.rule
    if rule is None:
        return True
    if asked(ask, person) and not rule.self_approval:
        return False
    names = {person.actor, *(f"role:{role}" for role in person.roles)}
    named = {name for group in (rule.approvers, *rule.each_of) for name in group}
    return not named or bool(names & named)


def check_quorum(ask: Interrupt, given: Json, cast: Iterable[Vote]) -> None:
    """Refuse an execution that fewer people agreed to than the rule wants.

    Args:
        ask: the question.
        given: the arguments that are executed, or the answer.
        cast: its votes, as they were stored one after the other.
    """
    rule = ask.rule
    if rule is None or (rule.quorum == 1 and not rule.each_of):
        return
    agreed: dict[str, Vote] = {}
    for vote in cast:
        said = stands_for(ask, vote.answer)
        if said is None:
            agreed.pop(vote.actor, None)
        elif exactly(said) != exactly(given):
            agreed = {}
        else:
            agreed[vote.actor] = vote
    lacking = [
        group
        for group in rule.each_of
        if not any({v.actor, *(f"role:{r}" for r in v.roles)} & {*group} for v in agreed.values())
    ]
    if len(agreed) < rule.quorum or len(agreed) < len(rule.each_of) or lacking:
        raise Violation(f"{ask.id} was executed with the votes of {sorted(agreed)} for {rule}")


def stands_for(ask: Interrupt, answer: RecordedAnswer) -> Json:
    """What would be executed after an answer; None where nothing would."""
    payload = answer.payload
    if answer.status == "cancelled":
        return None
    if ask.tool_call is None:
        return None if isinstance(payload, dict) and payload.get("declined") is True else [payload]
    if not isinstance(payload, dict) or payload.get("approved") is not True:
        return None
    return payload.get("editedArgs", dict(ask.tool_call.args))


def check_votes(loaded: Loaded, request: Request, hold: Hold) -> None:
    """Refuse to keep votes again that their voter has given."""
    again = [
        any(
            vote.actor == request.principal.actor and _same(vote.answer, entry.answer)
            for vote in ask.votes
        )
        for entry in request.entries
        if (ask := loaded.interrupts.get(entry.interrupt_id)) is not None
    ]
    if again and all(again) and hold.votes and not hold.answers:
        raise Violation(f"the votes {request.entries} were counted again")


def check_replay(loaded: Loaded, request: Request) -> None:
    """What is told as done must be what this client sent, to the letter."""
    for entry in request.entries:
        ask = loaded.interrupts.get(entry.interrupt_id)
        if ask is None:
            continue  # left out by skip_unknown
        receipt = loaded.receipts.get(ask.batch)
        if receipt is not None and receipt.outcome == "expired":
            continue
        given = receipt.answers[ask.id] if receipt is not None else ask.answer
        if given is not None and _same(given, entry.answer):
            continue
        if not any(
            vote.actor == request.principal.actor
            and _same(vote.answer, entry.answer)
            and (given is None or _agree(ask, vote.answer, given))
            for vote in ask.votes
        ):
            raise Violation(f"{entry} was told as done, but {given} was")


def check_refusal(loaded: Loaded, request: Request, refused: Reject) -> None:
    """Whoever asked may withdraw; and nobody must answer what is others' to answer."""
    named = [loaded.interrupts[id] for id in refused.interrupt_ids if id in loaded.interrupts]
    if refused.code in ("NOT_AN_APPROVER", "SELF_APPROVAL"):
        cancelled = {e.interrupt_id for e in request.entries if e.answer.status == "cancelled"}
        for ask in named:
            if ask.id in cancelled and asked(ask, request.principal):
                raise Violation(f"{request.principal.actor} could not withdraw {ask.id}")
    if refused.code == "INTERRUPT_NOT_COVERED":
        for ask in named:
            if not may_answer(ask, request.principal):
                raise Violation(f"{request.principal.actor} was to answer {ask.id} of others")


def _same(answer: RecordedAnswer, other: RecordedAnswer) -> bool:
    return (answer.status, exactly(answer.payload)) == (other.status, exactly(other.payload))


def _agree(ask: Interrupt, answer: RecordedAnswer, other: RecordedAnswer) -> bool:
    mine, theirs = _meaning(ask, answer), _meaning(ask, other)
    return exactly(mine) == exactly(theirs)


def _meaning(ask: Interrupt, answer: RecordedAnswer) -> Json:
    payload = answer.payload
    if isinstance(payload, dict) and payload.get("approved") is False and payload.get("respond"):
        return ["respond", payload["respond"]]
    return ["execute", stands_for(ask, answer)]
