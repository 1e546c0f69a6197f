"""What an input's answers come to: which questions it may answer, and which it settles.

Source: docs/contract.md, rows 15a to 18.
"""

from __future__ import annotations

from collections.abc import Mapping

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.approvals import (
    Refusal,
    agreed,
    args_digest,
    cast,
    is_enough,
    may_withdraw,
    needs_votes,
    same_answer,
    stands,
    why_not,
)
from agui_bridge.protocol.contract.requests import Entry, Request, Resume
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, RecordedAnswer, Vote


@dataclass(frozen=True, slots=True)
class Settled:
    """What the entries of an input come to.

    Attributes:
        answers: by interrupt id, what is answered with it.
        votes: by interrupt id, the votes of each question that wants several, this one's among
            them. It stays open unless it is in `answers` too.
        unsettled: ids of the questions that are open then, and unexpired.
    """

    answers: Mapping[str, RecordedAnswer]
    votes: Mapping[str, tuple[Vote, ...]]
    unsettled: tuple[str, ...]


def settle(loaded: Loaded, request: Request) -> Settled:
    """Work out what the entries of an admitted input come to."""
    answers: dict[str, RecordedAnswer] = {}
    votes: dict[str, tuple[Vote, ...]] = {}
    waiting = {ask.id: ask for ask in loaded.waiting}
    for entry in request.entries:
        ask = waiting.get(entry.interrupt_id)
        held = loaded.interrupts[entry.interrupt_id].answer
        if held is not None:
            # Said again, perhaps in the words of another voter: what was kept stays.
            answers[entry.interrupt_id] = held
        elif ask is None or not needs_votes(ask) or _withdraws(ask, entry, request):
            answers[entry.interrupt_id] = entry.answer
        else:
            vote = _vote(ask, entry, request, loaded.now)
            votes[ask.id] = cast(ask, vote)
            if ask.rule is not None and is_enough(ask.rule, votes[ask.id], vote):
                answers[ask.id] = entry.answer
    unsettled = tuple(id for id in waiting if id not in answers)
    return Settled(answers, votes, unsettled)


def resume_of(loaded: Loaded, settled: Settled) -> Resume:
    """The claim of a batch whose every question is answered or expired by now."""
    answers: dict[str, RecordedAnswer] = {}
    expired: set[str] = set()
    for ask in loaded.asks:
        if ask.expired(loaded.now):
            expired.add(ask.id)
            answers[ask.id] = settled.answers.get(ask.id, RecordedAnswer("cancelled"))
        else:
            answer = settled.answers.get(ask.id, ask.answer)
            assert answer is not None, "rows 16 and 17 leave nothing unanswered"
            answers[ask.id] = answer
    return Resume(answers, frozenset(expired), settled.votes)


def refusals(loaded: Loaded, request: Request) -> list[tuple[Interrupt, Refusal]]:
    """The open questions that the request names and its sender may not answer, and why."""
    waiting = {ask.id: ask for ask in loaded.waiting}
    return [
        (ask, refusal)
        for entry in request.entries
        if (ask := waiting.get(entry.interrupt_id)) is not None
        and not _withdraws(ask, entry, request)
        and (refusal := why_not(ask, request.principal)) is not None
    ]


def outstanding(loaded: Loaded, request: Request) -> list[Interrupt]:
    """Open, unexpired questions that the request leaves out."""
    named = {entry.interrupt_id for entry in request.entries}
    return [ask for ask in loaded.waiting if ask.id not in named]


def to_cover(loaded: Loaded, request: Request) -> list[Interrupt]:
    """Those of them that its sender may answer, and has not voted on."""
    return [
        ask
        for ask in outstanding(loaded, request)
        if why_not(ask, request.principal) is None
        and all(vote.actor != request.principal.actor for vote in ask.votes)
    ]


def repeats_votes(loaded: Loaded, request: Request) -> bool:
    """Whether an input says nothing but what its sender has said, some of it in votes."""
    actor = request.principal.actor
    waiting = {ask.id: ask for ask in loaded.waiting}
    again = [entry for entry in request.entries if entry.interrupt_id in waiting]
    return bool(again) and all(
        stands(waiting[entry.interrupt_id], actor, entry.answer)
        # What an escalation made easier is settled by saying it once more.
        and entry.interrupt_id not in settle(loaded, request).answers
        for entry in again
    )


def is_answer_of(ask: Interrupt | None, entry: Entry, given: RecordedAnswer, actor: str) -> bool:
    """Whether the entry repeats the recorded answer, or this sender's vote in it.

    Args:
        ask: the question, if it is known.
        entry: what is sent.
        given: the answer that the question got.
        actor: who sends it.
    """
    if same_answer(entry.answer, given):
        return True
    return ask is not None and any(
        vote.actor == actor and same_answer(vote.answer, entry.answer)
        for vote in agreed(ask, given)
    )


def _withdraws(ask: Interrupt, entry: Entry, request: Request) -> bool:
    return entry.answer.status == "cancelled" and may_withdraw(ask, request.principal)


def _vote(ask: Interrupt, entry: Entry, request: Request, now: float) -> Vote:
    who = request.principal
    digest = args_digest(ask, entry.answer)
    return Vote(who.actor, who.roles, entry.answer, digest, now, request.via)
