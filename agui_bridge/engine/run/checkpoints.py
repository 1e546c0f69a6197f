"""Runs that another process may take up: what their claims keep for it, and how one goes on.

Source: docs/contract.md, "Checkpoints".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agui_bridge.adapters import Resume, Run
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.input.thread_size import ThreadSize
from agui_bridge.engine.run.claim import Claim, Opening
from agui_bridge.engine.run.context import AgentMessages, Context
from agui_bridge.engine.run.leases import Owner
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.decisions import Decision, decide
from agui_bridge.protocol.contract.lost_transitions import take_up
from agui_bridge.protocol.contract.requests import Resume as ResumeRuling, Start, TakeUp
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.checkpoint import Checkpoint
from agui_bridge.protocol.threads.content_parts import known_messages
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Principal,
    ThreadRecord,
    lease_token,
)
from agui_bridge.protocol.wire.run_events import activity_types
from agui_bridge.stores.base import Committed

_OWN = {"messages", "state", "resume"}
"""Members of an input that the thread has itself."""


def claim_of(
    submission: Submission,
    incoming: StartingConversation,
    ruling: Start | ResumeRuling | TakeUp,
    settings: Settings,
    mint: Callable[[], str],
    process: str,
) -> Claim:
    """Work out the claim of an admitted input: see `Claim.of`."""
    if isinstance(ruling, TakeUp):
        return claim_lost(submission, incoming, settings.lease_seconds, mint, process)
    claim = Claim.of(submission, incoming, ruling, settings, mint, process)
    return with_checkpoint(claim) if submission.agent.settings.checkpoint == "step" else claim


def run_of(claim: Claim, committed: Committed, owner: Owner, *, held: bool) -> Run:
    """The run as the adapter sees it, once its claim is committed: see `Claim.run_of`."""
    run = claim.run_of(committed, owner, held=held)
    point = committed.record.checkpoint
    if claim.submission.takes_up and point is not None:
        go_on(run, claim.incoming.loaded, point)
    return run


def with_checkpoint(claim: Claim) -> Claim:
    """A claim that keeps what another process needs to begin the run as this one does."""
    record, submission = claim.change.record, claim.submission
    brought, incoming = claim.told, claim.incoming
    point = Checkpoint(
        input=claim.input.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_OWN),
        roles=tuple(sorted(submission.principal.roles)),
        brought=tuple(message["id"] for message in brought),
        silent=claim.is_silent(brought),
        # A function finds the results themselves among the messages.
        standing=incoming.handoff if incoming.results else None,
    )
    return replace(claim, change=replace(claim.change, record=replace(record, checkpoint=point)))


def submission_of(agent: Agent, record: ThreadRecord) -> Submission:
    """The input with which a lost run goes on, in the name of whoever sent its own.

    Args:
        agent: whose run it is.
        record: the thread, which has a checkpoint.
    """
    run, point = record.run, record.checkpoint
    assert run is not None and point is not None, "only such a run can go on"
    ids = {"threadId": record.key.thread, "runId": run.run_id, "messages": []}
    # What it forwards is not read again: an answer in it was taken with the claim.
    props: Mapping[str, Any] = {"forwardedProps": {}}
    parsed = parse_input({**point.input, **ids, **props, "protocolVersion": "1.0"})
    given = parsed.input.model_copy(update={"forwarded_props": point.input.get("forwardedProps")})
    principal = Principal(record.key.scope, run.actor, frozenset(point.roles))
    return Submission(
        agent,
        principal,
        replace(parsed, input=given),
        on_disconnect="continue",
        via="rule",
        takes_up=True,
    )


def claim_lost(
    submission: Submission,
    incoming: StartingConversation,
    lease_seconds: float,
    mint: Callable[[], str],
    process: str,
) -> Claim:
    """Work out the takeover of a lost run.

    Args:
        submission: see `submission_of`.
        incoming: which brings nothing.
        lease_seconds: how long the new lease is.
        mint: makes ids.
        process: names the process in the lease.
    """
    loaded = incoming.loaded
    history = incoming.open_history(rewind=False)
    asks = {ask.id: ask for ask in loaded.batch_interrupts()}
    open_asks = [ask for ask in asks.values() if ask.status is InterruptStatus.CLAIMED]
    return Claim(
        submission=submission,
        incoming=incoming,
        change=take_up(loaded, lease_token(process, mint()), lease_seconds),
        history=history,
        interrupts=asks,
        # What is settled has its result.
        decisions={ask.id: decision_on(ask) for ask in open_asks},
        opening=Opening(False, (), None, activity_types(m.message for m in loaded.messages)),
        size=ThreadSize(0, submission.agent.settings.max_thread_bytes),
        context=Context.of(incoming, history, starts=False),
    )


def go_on(run: Run, loaded: Loaded, point: Checkpoint) -> None:
    """Have a run begin where the lost one stands.

    Args:
        run: as its claim has made it.
        loaded: the thread as it was lost.
        point: where the run stands.
    """
    brought = {*point.brought}
    run.raw_new_messages = AgentMessages([m for m in run.raw_messages if m["id"] in brought])
    run.silent = point.silent
    run.standing = point.standing
    batch = loaded.record.batch if loaded.record is not None else None
    if batch is not None and point.standing is None:
        asks = loaded.batch_interrupts()
        run.resume = Resume(
            batch.continuation,
            {ask.native_id: decision_on(ask) for ask in asks},
            known_messages(run.raw_new_messages),
            {ask.native_id: _answer_of(ask).actor for ask in asks},
        )


def decision_on(ask: Interrupt) -> Decision:
    """What was decided on a question that a run has claimed, as its claim found it.

    Args:
        ask: the question, perhaps closed by its result since.
    """
    assert ask.answer is not None, "what is claimed has an answer"
    claimed = next(e for e in reversed(ask.changes) if e.status is InterruptStatus.CLAIMED)
    return decide(
        ask,
        ask.answer,
        expired=ask.expired(claimed.at),
        actor=_answer_of(ask).actor,
        votes=ask.votes,
    )


def _answer_of(ask: Interrupt) -> AuditEntry:
    """Who gave the answer, and when: it may have waited for others before it was claimed."""
    given = (InterruptStatus.ANSWERED, InterruptStatus.CLAIMED)
    return next(e for e in _last_open(ask.changes) if e.status in given)


def _last_open(changes: Iterable[AuditEntry]) -> list[AuditEntry]:
    """What happened since a question was open last."""
    since: list[AuditEntry] = []
    for entry in changes:
        since = [] if entry.status is InterruptStatus.OPEN else [*since, entry]
    return since
