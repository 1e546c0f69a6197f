"""The promises of the contract, each as a check of the store against the ledger."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from agui_bridge.protocol.answers.decisions import DECLINE, EDIT, RESPOND
from agui_bridge.protocol.contract.requests import Recover, Replay, Request, TakeUp
from agui_bridge.protocol.contract.transitions import VOTES_RESET
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadStatus
from tests.model.engine import Engine
from tests.model.judging import check_quorum, may_answer
from tests.model.world import TIME, Execution, Violation, World, exactly

__all__ = ["check_execution", "check_promises"]

_OPEN, _ANSWERED, _CLAIMED = (
    InterruptStatus.OPEN,
    InterruptStatus.ANSWERED,
    InterruptStatus.CLAIMED,
)
_CLOSED = (
    InterruptStatus.RESOLVED,
    InterruptStatus.CANCELLED,
    InterruptStatus.EXPIRED,
    InterruptStatus.INDETERMINATE,
)
_UNANSWERED = (InterruptStatus.CANCELLED, InterruptStatus.EXPIRED)

_MOVES: dict[InterruptStatus, tuple[InterruptStatus, ...]] = {
    _OPEN: (_ANSWERED, _CLAIMED, *_UNANSWERED),
    _ANSWERED: (_CLAIMED, *_UNANSWERED),
    _CLAIMED: (_OPEN, *_CLOSED),
}


def check_promises(world: World, engine: Engine, before: dict[str, Interrupt]) -> None:
    """Check everything that must hold after each step.

    Args:
        world: the world now.
        engine: what admits.
        before: the interrupts as they were a step ago.
    """
    rows = world.rows()
    _check_thread(world, rows)
    for id, ask in rows.items():
        _check_interrupt(ask, before.get(id))
    for id, held in world.ledger.held.items():
        _check_held(world, rows[id], exactly([held.status, held.payload]))
    for (id, actor), answer in world.ledger.voted.items():
        if id in rows:
            _check_voted(world, rows[id], actor, exactly([answer.status, answer.payload]))
    for entries, sender in world.ledger.finished:
        loaded = world.look(tuple(entry.interrupt_id for entry in entries))
        decision = engine.admit(loaded, Request(entries, principal=sender))
        # Of a run that was lost meanwhile first that is seen to, then the input anew.
        if not isinstance(decision, Replay | Recover | TakeUp):
            raise Violation(f"{entries} was told as done; told again it meets {decision}")


def check_execution(world: World, execution: Execution) -> None:
    """Check one execution at the moment that it happens."""
    id, ledger = execution.interrupt_id, world.ledger
    if Counter(done.interrupt_id for done in ledger.executions)[id] > 1:
        raise Violation(f"{id} was executed twice")
    ask = ledger.asks[id]
    if execution.token in ledger.stopped_runs or id in ledger.stopped_asks:
        raise Violation(f"{id} was executed after its client was told that it is stopped")
    stored = world.rows().get(id)
    if stored is None or stored.status is not _CLAIMED or stored.answer is None:
        raise Violation(f"{id} was executed without an accepted approval in the store")
    claimed_at = stored.changes[-1].at
    if ask.is_timer:
        # A delivery that failed gives it another time.
        ask = replace(ask, expires_at=stored.expires_at)
    if ask.is_timer and execution.args == TIME:
        if not ask.expired(claimed_at):
            raise Violation(f"{id} was woken before its time, by nobody")
        return
    if ask.expired(claimed_at):
        raise Violation(f"{id} was executed although it had expired when it was claimed")
    given = execution.args if ask.tool_call is not None else [execution.args]
    check_quorum(ask, given, ledger.cast.get(id, ()))
    if ask.tool_call is None:
        _check_answered(world, ask, execution)
        return
    # A message approves nothing, whatever it was read as.
    for answer, arrived, sender in ledger.sent.get(id, []):
        payload = answer.payload
        if (
            answer.status == "resolved"
            and may_answer(ask, sender)
            and not ask.expired(arrived)
            and isinstance(payload, dict)
            and payload.get("approved") is True
            and "respond" not in payload
            and exactly(payload) == exactly(stored.answer.payload)
            and exactly(payload.get("editedArgs", ask.tool_call.args)) == exactly(execution.args)
        ):
            return
    raise Violation(f"{id} was executed with {execution.args}, which no approval in time said")


def _check_answered(world: World, ask: Interrupt, execution: Execution) -> None:
    """What goes on with an answer has one that a client sent, or said after the question."""
    heard = (*world.ledger.sent.get(ask.id, []), *world.ledger.said.get(ask.id, []))
    for answer, arrived, sender in heard:
        if (
            answer.status == "resolved"
            and may_answer(ask, sender)
            and not ask.expired(arrived)
            and exactly(answer.payload) == exactly(execution.args)
            and not (DECLINE in ask.allowed and isinstance(answer.payload, dict))
        ):
            return
    raise Violation(f"{ask.id} went on with {execution.args}, which nobody answered in time")


def _check_thread(world: World, rows: dict[str, Interrupt]) -> None:
    """A thread's record, its interrupts and its receipts tell one story."""
    record = world.look().record
    if record is None:
        return
    shape = (record.run is not None, record.batch is not None)
    expected = {
        ThreadStatus.IDLE: ((False, False),),
        ThreadStatus.RUNNING: ((True, False), (True, True)),
        ThreadStatus.INTERRUPTED: ((False, True),),
    }
    if shape not in expected[record.status]:
        raise Violation(f"a thread that is {record.status} has run, batch = {shape}")
    known = record.ended.token if record.ended and record.ended.outcome != "lost" else None
    if record.run is not None and record.run.token in world.ledger.rewound:
        known = None
    if known in world.ledger.given_up:
        known = None
    if record.memo != known:
        raise Violation(f"noted is {record.memo}, after {record.ended} and in {record.run}")
    receipts = world.receipts()
    for ask in rows.values():
        if ask.is_timer and ask.batch in receipts and receipts[ask.batch].outcome == "expired":
            raise Violation(f"{ask.id} was closed as a question that nobody answered")
    current = record.batch.id if record.batch is not None else None
    for ask in rows.values():
        if (ask.batch in receipts) == (ask.batch == current):
            raise Violation(f"the batch of {ask.id} must be the thread's own, or have a receipt")
        if ask.batch != current:
            fitting = ask.status in _CLOSED
        elif record.status is ThreadStatus.INTERRUPTED:
            fitting = ask.status in (_OPEN, _ANSWERED)
        else:
            fitting = ask.status is _CLAIMED or ask.status in _CLOSED
        if not fitting:
            raise Violation(f"{ask.id} is {ask.status} on a thread that is {record.status}")


def _check_interrupt(ask: Interrupt, before: Interrupt | None) -> None:
    """An interrupt's history only grows, by moves that exist; near-miss answers are none."""
    if before is not None and ask.audit[: len(before.audit)] != before.audit:
        raise Violation(f"the history of {ask.id} was rewritten")
    status = _OPEN
    for entry in ask.changes:
        if entry.status not in _MOVES.get(status, ()):
            raise Violation(f"{ask.id} went from {status} to {entry.status}")
        status = entry.status
        if status is InterruptStatus.EXPIRED and not ask.expired(entry.at):
            raise Violation(f"{ask.id} was closed as expired before its time")
        claimed_late = status is _CLAIMED and ask.expired(entry.at)
        if claimed_late and ask.answer is not None and ask.answer.status == "resolved":
            raise Violation(f"{ask.id} was resolved after it had expired")
    if status is _OPEN and ask.answer is not None:
        raise Violation(f"{ask.id} is open and has an answer")
    if status is not ask.status:
        raise Violation(f"{ask.id} is {ask.status}, its history says {status}")
    if ask.tool_call is None or ask.answer is None or ask.answer.status == "cancelled":
        return
    payload = ask.answer.payload
    if not isinstance(payload, dict) or not isinstance(payload.get("approved"), bool):
        raise Violation(f"{payload} was accepted as a decision about {ask.id}")
    if "editedArgs" in payload and EDIT not in ask.allowed:
        raise Violation(f"{payload} was accepted, but {ask.id} allows no edits")
    if "respond" in payload and (RESPOND not in ask.allowed or payload["approved"]):
        raise Violation(f"{payload} was accepted as the result of {ask.id}")


def _check_voted(world: World, ask: Interrupt, actor: str, voted: str) -> None:
    """A vote that was acknowledged counts, until its voter changes it, or an edit resets it."""
    if ask.status is not _OPEN or ask.id in world.ledger.reopened:
        return
    if any(entry.event == VOTES_RESET for entry in ask.audit) or ask.rule is None:
        return
    heard = (*world.ledger.sent.get(ask.id, []), *world.ledger.said.get(ask.id, []))
    said = [exactly([a.status, a.payload]) for a, _, p in heard if p.actor == actor]
    stored = [exactly([v.answer.status, v.answer.payload]) for v in ask.votes if v.actor == actor]
    if stored != [voted] and not (stored and stored[0] in said):
        raise Violation(f"the vote {voted} of {actor} on {ask.id} was kept, but {stored} is there")


def _check_held(world: World, ask: Interrupt, held: str) -> None:
    """An answer that was acknowledged stays, until its own expiry, a stop, or non-delivery."""
    if ask.id in world.ledger.reopened:
        return
    if any(ask.expired(entry.at) for entry in ask.changes):
        return
    if ask.answer is None or exactly([ask.answer.status, ask.answer.payload]) != held:
        raise Violation(f"the answer {held} to {ask.id} was kept, but {ask.answer} is there")
