"""One question answered alone: docs/contract.md, row 17, also while others of its pause are open.

Whoever answers sees one question and no conversation: the run that an answer sets off streams to
nobody, and what came of the answer is read from the stored question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.engine.streaming.pipe import Pipe
from agui_bridge.errors import Refused
from agui_bridge.inbox.reference import Reference, find_question
from agui_bridge.protocol.approvals import stands
from agui_bridge.protocol.contract.requests import Entry, Replay, Resume
from agui_bridge.protocol.contract.settling import is_answer_of
from agui_bridge.protocol.contract.transitions import VOTED, VOTES_RESET
from agui_bridge.protocol.dialects import V1, parse_input
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    Principal,
    RecordedAnswer,
)
from agui_bridge.stores.base import InterruptRow

SINGLY: Final = replace(V1, name="single", answers_singly=True)
"""Who answers so may leave out other questions of the same pause: their answer is kept."""

_LOOK_AGAIN: Final = 0.5
"""Seconds between looks at whether an answer was taken, once the caller wants to wait no more."""


_NOT_CARRIED_OUT: Final = (InterruptStatus.OPEN, InterruptStatus.ANSWERED)

AnswerStatus = Literal[
    "refused",
    "voted",
    "open",
    "answered",
    "claimed",
    "resolved",
    "cancelled",
    "expired",
    "indeterminate",
]
"""What an answer came to."""


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """What came of an answer; of an identical one the same.

    Attributes:
        status: `refused`; `voted` (its rule wants others to answer, too); or what became of the
            question: `answered` (it is kept: others of its pause are open, or the process that
            holds it is to go on), `claimed` (it is being carried out), `resolved`, `cancelled`,
            `expired`, `indeterminate`.
        row: the question as it is stored now.
        code: why it was refused, or how the run failed that carried it out; None when it did not.
        message: the same for people.
        result: of that run, as RUN_FINISHED has it; None where it has none, for who only reviews
            the thread's questions, and once the thread has gone on.
    """

    status: AnswerStatus
    row: InterruptRow
    code: str | None = None
    message: str | None = None
    result: Json = None

    @property
    def refused(self) -> bool:
        """Whether the answer was not taken."""
        return self.status == "refused"


async def answer_question(
    engine: Engine,
    agents: Mapping[str, Agent],
    reference: Reference,
    given: RecordedAnswer,
    principal: Principal,
    *,
    via: str = "api",
    wait: float | None = None,
    heavy: bool = False,
) -> AnswerOutcome:
    """Answer one question, and see the run through that it sets off.

    Args:
        engine: carries it out.
        agents: by name.
        reference: which question.
        given: the answer.
        principal: who answers.
        via: through what, for the history.
        wait: seconds to wait for the run's end, once the answer is taken; None: until it ends.
        heavy: whether the answer is so large that what is done with it takes turns.

    Raises:
        Refused: the principal sees no such question (INTERRUPT_NOT_FOUND), its agent is gone and
            the answer is no cancellation (AGENT_NOT_FOUND), the answer is malformed
            (INVALID_INPUT), the scope has too many runs (TOO_MANY_RUNS), or a question of an agent
            that is gone is not the principal's to withdraw (NOT_AN_APPROVER).
        StoreUnavailable: the store did not answer.
    """
    key = reference.key
    await find_question(engine, reference, principal)
    agent = agents.get(key.agent)
    if agent is None:
        if given.status == "cancelled":
            return await _withdraw(engine, reference, principal)
        raise Refused("AGENT_NOT_FOUND", said_gone(key.agent))
    entry = {"interruptId": reference.interrupt, "status": given.status}
    if given.status == "resolved":
        entry["payload"] = given.payload
    body = {
        "threadId": key.thread,
        "runId": mint(),
        "protocolVersion": "1.0",
        "messages": [],
        "resume": [entry],
    }
    async with engine.turns.turn(key.scope, heavy):
        parsed = parse_input(body, agent.settings.input_limits)
    submission = Submission(
        agent,
        principal,
        replace(parsed, dialect=SINGLY),
        on_disconnect="continue",
        refusals="error",
        via=via,
        heavy=heavy,
        scope=key.scope,
    )
    began = engine.clock.monotonic()
    row, stream = await _submitted(engine, reference, submission, wait)
    if row.interrupt.status is InterruptStatus.CLAIMED and _was_told(stream):
        # Somebody else's answer completed it after this one was told. Said again, it joins them.
        left = None if wait is None else max(wait - (engine.clock.monotonic() - began), 0.0)
        row, stream = await _submitted(engine, reference, submission, left)
    return _outcome(row, given, principal, stream)


async def _withdraw(engine: Engine, reference: Reference, principal: Principal) -> AnswerOutcome:
    """Close the pause of an agent that is gone: nobody is told, and nothing goes on."""
    await engine.stop(reference.key, principal=principal)
    row = await find_question(engine, reference, principal)
    ask = row.interrupt
    if ask.status is InterruptStatus.CANCELLED:
        return AnswerOutcome("cancelled", row)
    return AnswerOutcome("refused", row, "INTERRUPT_ALREADY_ANSWERED", said_decided(ask))


async def _submitted(
    engine: Engine, reference: Reference, submission: Submission, wait: float | None
) -> tuple[InterruptRow, EventStream]:
    """Hand an answer in; gives the question afterwards, and what was told."""
    pipe, stream = engine.submit(submission)
    try:
        await _see_through(engine, reference, submission.principal, pipe, wait)
    finally:
        pipe.detach()
    return await find_question(engine, reference, submission.principal), stream


def _was_told(stream: EventStream) -> bool:
    """Whether an answer was taken, and what it came to was told before the question moved on."""
    return stream.terminal is not None and stream.terminal["type"] != "RUN_ERROR"


async def _see_through(
    engine: Engine, reference: Reference, principal: Principal, pipe: Pipe, wait: float | None
) -> None:
    """Read a stream to its end, or as long as one waits; never leave before an answer is taken.

    Left by its last reader, an answer that still waits for another run would be dropped.
    """
    seconds = wait
    while True:
        try:
            async with asyncio.timeout(seconds):
                while await pipe.read():
                    pass
            return
        except TimeoutError:
            row = await find_question(engine, reference, principal)
            # Its result is stored before the run's end: then it is resolved, and the run goes on.
            # One that waits for the process that holds its pause is kept, whoever leaves.
            if row.interrupt.status is not InterruptStatus.OPEN:
                return
            seconds = _LOOK_AGAIN


def _outcome(
    row: InterruptRow, given: RecordedAnswer, principal: Principal, stream: EventStream
) -> AnswerOutcome:
    ask, last, actor = row.interrupt, stream.terminal, principal.actor
    code = message = None
    if last is not None and last["type"] == "RUN_ERROR":
        code, message = last["code"], last["message"]
    taken = ask.answer is not None and is_answer_of(ask, Entry(ask.id, given), ask.answer, actor)
    if last is None and not taken:
        code = "INTERRUPT_ALREADY_ANSWERED"
    if ask.is_open and code is None and stands(ask, actor, given):
        return AnswerOutcome("voted", row, message=_said_voted(ask))
    if code is None or (taken and not ask.is_open):
        # Who reviews another scope sees its questions, and nothing else of its threads.
        result = _result(ask, stream) if row.key.scope == principal.scope else None
        return AnswerOutcome(ask.status.value, row, code, message, result)
    if code == "INTERRUPT_ALREADY_ANSWERED":
        message = said_decided(ask)
    return AnswerOutcome("refused", row, code, message)


def _said_voted(ask: Interrupt) -> str:
    """How far a question is since somebody's vote, and whose votes fell with it, in words."""
    assert ask.rule is not None, "only a rule wants votes"
    agreeing = [vote for vote in ask.votes if vote.args_digest is not None]
    said = f"Your vote counts: {len(agreeing)} of {ask.rule.votes} have approved the same."
    if ask.audit[-1].event != VOTES_RESET:
        return said
    voted = dict.fromkeys(entry.actor for entry in ask.audit if entry.event == VOTED)
    fallen = [actor for actor in voted if actor not in {vote.actor for vote in ask.votes}]
    several = len(fallen) > 1
    votes, were, count = ("votes", "were", "count") if several else ("vote", "was", "counts")
    whose = f"The {votes} of {', '.join(fallen)}"
    return f"{said} {whose} {were} for other arguments, and {count} no more."


def _result(ask: Interrupt, stream: EventStream) -> Json:
    """Of the run that carried an answer out; None where it is told of as kept, or as a vote."""
    carried = isinstance(stream.ruling, Resume | Replay)
    if stream.terminal is None or not carried or ask.status in _NOT_CARRIED_OUT:
        return None
    return stream.terminal.get("result")


def said_gone(agent: str) -> str:
    """Why nobody can answer a question whose agent was removed, in words."""
    return f"There is no agent {agent[:100]!r} any more. Its question can only be withdrawn."


def said_decided(ask: Interrupt) -> str:
    """What became of a question that is open no more, and through whom, in words."""
    decision = decided_by(ask)
    if decision is None:
        return "It is decided already."
    through = f" (via {decision.via})" if decision.via else ""
    return f"It is decided already: {ask.status.value}, by {decision.actor}{through}."


def decided_by(ask: Interrupt) -> AuditEntry | None:
    """The entry of a question's history that decided it; None while it is open."""
    found = None
    for entry in ask.changes:
        if entry.status is InterruptStatus.OPEN:
            found = None  # Nothing had reached the framework, and it was asked anew.
        elif found is None:
            found = entry
    return found
