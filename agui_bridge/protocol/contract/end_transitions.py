"""How the end of a run changes its thread: one `Change` for each, and for a result that is late.

Source: docs/contract.md, "Stop" and "Crash, lease, lost runs, failed delivery".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Literal

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import (
    Change,
    actor_of,
    answers_of,
    closed_by_answer,
    moved,
)
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.kept import Kept
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    RunEnding,
    ThreadRecord,
    ThreadStatus,
)

__all__ = ["FinalWrite", "end_run", "late_result", "reopen"]


@dataclass(frozen=True, slots=True)
class FinalWrite:
    """How a run ended.

    Attributes:
        outcome: finished (success or interrupt), stopped, failed.
        code: error code of a failed run.
        batch: the new batch, when it ended with an interrupt.
        interrupts: that batch's rows.
        pending_calls: frontend calls that wait for the application.
        handoff: continuation for their results.
        unheard: ids of the messages that the run was to bring to its agent, and did not.
        iteration: model steps that the run had begun, None if unknown.
        memo: what the adapter noted for its next run.
        kept: how far the conversation is that its framework has; None leaves what was known.
        unsettled: statuses of claimed interrupts whose approved call has no result: cancelled where
            it certainly never began, else indeterminate. The others take what their answers mean.
    """

    outcome: Literal["finished", "stopped", "failed"]
    code: str | None = None
    batch: Batch | None = None
    interrupts: tuple[Interrupt, ...] = ()
    pending_calls: tuple[str, ...] = ()
    handoff: Json = None
    unheard: tuple[str, ...] = ()
    iteration: int | None = None
    memo: Json = None
    kept: Kept | None = None
    unsettled: Mapping[str, InterruptStatus] = field(default_factory=dict)


def end_run(
    record: ThreadRecord,
    claimed: Sequence[Interrupt],
    end: FinalWrite,
    *,
    messages: Sequence[StoredMessage] = (),
    state: Json,
    superseded: Sequence[str] = (),
    told: Collection[ClosedBatch] = (),
    expired: Collection[str] = (),
    now: float,
) -> Change:
    """The owner's last write: the run's end, its receipt, and the next interrupts if any.

    Args:
        record: the owner's record.
        claimed: the interrupts that the run carried out, as last written.
        end: how it ended.
        messages: rows to write.
        state: the shared state.
        superseded: ids of messages that the agent took out of the conversation.
        told: closed batches that the adapter has been told of.
        expired: ids of claimed interrupts that count as expired.
        now: the store's time.
    """
    receipts: tuple[Receipt, ...] = ()
    if record.batch is not None:
        receipts = (
            Receipt(
                batch=record.batch.id,
                outcome=end.outcome,
                answers=answers_of(claimed),
                code=end.code,
                lease=record.run.token if record.run else None,
                at=now,
            ),
        )
    interrupted = end.batch is not None
    return Change(
        record=replace(
            record,
            status=ThreadStatus.INTERRUPTED if interrupted else ThreadStatus.IDLE,
            run=None,
            batch=end.batch,
            state=state,
            closed=tuple(batch for batch in record.closed if batch not in told),
            pending_calls=end.pending_calls,
            handoff=end.handoff,
            ended=RunEnding(record.run.token, end.outcome, end.iteration)
            if record.run
            else record.ended,
            unheard=end.unheard,
            memo=end.memo,
            rewound=record.rewound if end.kept is None else (),
            kept=end.kept or record.kept,
        ),
        interrupts=(
            *(
                moved(ask, end.unsettled[ask.id], now, actor_of(record))
                if ask.id in end.unsettled
                else closed_by_answer(ask, now, actor_of(record), expired=ask.id in expired)
                for ask in claimed
                if ask.status is InterruptStatus.CLAIMED
            ),
            *end.interrupts,
        ),
        receipts=receipts,
        messages=tuple(messages),
        superseded=tuple(superseded),
    )


def late_result(loaded: Loaded, message: StoredMessage, ask: Interrupt | None) -> Change:
    """A call's result that came after its run was over, in place of "unknown".

    Args:
        loaded: the idle thread.
        message: the result, in the row of what was said in its place.
        ask: the interrupt about the call, if there was one.
    """
    record = loaded.record
    assert record is not None, "only a thread that exists has had a run"
    closed = (
        (closed_by_answer(ask, loaded.now, ask.changes[-1].actor),)
        if ask is not None and ask.status is InterruptStatus.INDETERMINATE
        else ()
    )
    return Change(record=record, interrupts=closed, messages=(message,))


def reopen(
    record: ThreadRecord,
    claimed: Sequence[Interrupt],
    *,
    unheard: Sequence[str] = (),
    messages: Sequence[StoredMessage] = (),
    memo: Json = None,
    now: float,
) -> Change:
    """Nothing reached the framework: the whole batch is open again, answers dropped.

    Args:
        record: the owner's record.
        claimed: the interrupts that the run was to carry out, as last written.
        unheard: ids of the messages that came along.
        messages: rows to write: calls with the arguments that were proposed, where the claim wrote
            edited ones.
        memo: what the adapter noted for its next run.
        now: the store's time.
    """
    return Change(
        record=replace(
            record,
            status=ThreadStatus.INTERRUPTED,
            run=None,
            unheard=tuple(unheard),
            memo=memo,
        ),
        interrupts=tuple(
            moved(replace(ask, answer=None, votes=()), InterruptStatus.OPEN, now, "bridge")
            for ask in claimed
        ),
        messages=tuple(messages),
    )
