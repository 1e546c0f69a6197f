"""How the end of a run changes its thread: one `Change` for each, and for a result that is late.

Source: docs/contract.md, "Stop" and "Crash, lease, lost runs, failed delivery".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import (
    Change,
    actor_of,
    answers_of,
    closed_by_answer,
    input_receipt,
    moved,
    redactions_of,
)
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.history import Rewritten, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import (
    ChainHead,
    LeaseTerm,
    PauseHold,
    Redaction,
    Watch,
)
from agui_bridge.protocol.threads.records import (
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    ReceiptOutcome,
    RunEnding,
    ThreadRecord,
    ThreadStatus,
)

# --- what a run has written under its lease, for a store that lost some of it in a failover ---
#
# The claim is there as long as the lease is. What came after it may be gone: results that were
# told, and that their questions are closed. Source: docs/contract.md, X3 to X5.


class Written:
    """The rows that a run has written since its claim, each as it was written last.

    The record is written whole each time, and needs no keeping.
    """

    __slots__ = ("_interrupts", "_messages", "_redactions", "_superseded")

    def __init__(self) -> None:
        self._redactions: list[tuple[Redaction, int]] = []
        self._interrupts: dict[str, Interrupt] = {}
        self._messages: dict[str, StoredMessage] = {}
        self._superseded: dict[str, None] = {}

    def note(self, change: Change, chain: ChainHead | None) -> None:
        """Take note of a change that the store has taken.

        Args:
            change: as it was written.
            chain: the end of the audit chain since then.
        """
        if chain is not None:
            self._redactions += ((redaction, chain.seq) for redaction in change.redactions)
        self._interrupts.update((ask.id, ask) for ask in change.interrupts)
        for message in change.messages:
            self._messages[message.id] = message
            self._superseded.pop(message.id, None)
        for id in change.superseded:
            self._messages.pop(id, None)
            self._superseded[id] = None

    def whole(self, change: Change, chain: ChainHead | None) -> Change:
        """A change with all that was written before it.

        Args:
            change: what is to be written now.
            chain: the end of the audit chain as it is stored: the rows behind it are lost, and are
                sealed again.
        """
        interrupts = self._interrupts | {ask.id: ask for ask in change.interrupts}
        messages = self._messages | {message.id: message for message in change.messages}
        gone = dict.fromkeys(id for id in self._superseded if id not in messages)
        gone.update(dict.fromkeys(change.superseded))
        stored = chain.seq if chain is not None else 0
        redactions = (redaction for redaction, seq in self._redactions if seq > stored)
        return replace(
            change,
            record=replace(change.record, chain=chain),
            interrupts=tuple(interrupts.values()),
            messages=tuple(row for id, row in messages.items() if id not in gone),
            superseded=tuple(gone),
            redactions=(*redactions, *change.redactions),
        )


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
        returning: ids of messages that this run was not sent, and that the next one is again.
        held_context: the `context` that they came with.
        iteration: model steps that the run had begun, None if unknown.
        memo: what the adapter noted for its next run.
        result: what the run gave, to be told again.
        kept: how far the conversation is that its framework has; None leaves what was known.
        unsettled: statuses of claimed interrupts whose approved call has no result: cancelled where
            it certainly never began, else indeterminate. The others take what their answers mean.
        watch: work that the run leaves with its framework.
        hold: token under which this process holds the new batch; None where nothing waits for it.
    """

    outcome: Literal["finished", "stopped", "failed"]
    code: str | None = None
    batch: Batch | None = None
    interrupts: tuple[Interrupt, ...] = ()
    pending_calls: tuple[str, ...] = ()
    handoff: Json = None
    unheard: tuple[str, ...] = ()
    returning: tuple[str, ...] = ()
    held_context: tuple[Mapping[str, Json], ...] = ()
    iteration: int | None = None
    memo: Json = None
    result: Json = None
    kept: CompletedPart | None = None
    unsettled: Mapping[str, InterruptStatus] = field(default_factory=dict)
    watch: Watch | None = None
    hold: str | None = None


def end_run(
    record: ThreadRecord,
    claimed: Sequence[Interrupt],
    end: FinalWrite,
    *,
    messages: Sequence[StoredMessage] = (),
    state: Json,
    rewritten: Iterable[Rewritten] = (),
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
        rewritten: those of the messages whose words the agent put others in the place of.
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
    # An input that no agent has heard was not carried out: sent again, it is.
    undelivered = end.outcome == "failed" and bool(end.unheard)
    outcome: ReceiptOutcome = "undelivered" if undelivered else end.outcome
    receipts += input_receipt(record.run, outcome, now, code=end.code)
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
            ended=RunEnding(record.run.token, end.outcome, end.iteration, end.result)
            if record.run
            else record.ended,
            unheard=(*end.returning, *end.unheard),
            held_context=end.held_context,
            memo=end.memo,
            rewound=record.rewound if end.kept is None else (),
            archived=record.archived if end.kept is None else (),
            kept=end.kept or record.kept,
            watch=end.watch,
            checkpoint=None,
            # How long it holds is the store's to say.
            hold=PauseHold(end.hold, LeaseTerm(0.0)) if end.hold is not None else None,
            past=True if superseded else record.past,
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
        redactions=redactions_of(record, rewritten, now),
    )


def let_go(loaded: Loaded) -> Change:
    """Nobody holds the pause any more, and it goes on waiting: what answers it is the next claim.

    Source: docs/contract.md, "Held pauses".
    """
    assert loaded.record is not None, "only a thread that exists is paused"
    return Change(record=replace(loaded.record, hold=None))


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
    context: Sequence[Mapping[str, Json]] = (),
    messages: Sequence[StoredMessage] = (),
    memo: Json = None,
    now: float,
) -> Change:
    """Nothing reached the framework: the whole batch is open again, answers dropped.

    Args:
        record: the owner's record.
        claimed: the interrupts that the run was to carry out, as last written.
        unheard: ids of the messages that came along.
        context: what the agent was to have besides.
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
            held_context=tuple(context),
            memo=memo,
            checkpoint=None,
        ),
        interrupts=tuple(_reopened(ask, now) for ask in claimed),
        receipts=input_receipt(record.run, "undelivered", now),
        messages=tuple(messages),
    )


_LATER: Final = 60.0
"""Seconds until the time of a timer comes again whose run reached nobody."""


def _reopened(ask: Interrupt, now: float) -> Interrupt:
    undone = replace(ask, answer=None, votes=())
    if ask.is_timer and ask.expired(now):
        undone = replace(undone, expires_at=now + _LATER)
    return moved(undone, InterruptStatus.OPEN, now, "bridge")


def give_back(
    claim: Change,
    before: Loaded,
    *,
    said: Sequence[str] = (),
    returned: Sequence[str] = (),
    messages: Sequence[StoredMessage] = (),
    now: float,
) -> Change:
    """Nobody knows whether a failover would keep a claim, so nothing is executed: undo it.

    Votes and held answers stand as before; the answer that came with the claim was not accepted.
    What was said besides is told to the agent with the next run, as after `reopen`.

    Args:
        claim: what was committed.
        before: the thread that it was committed on.
        said: ids of the messages that it brought, but for results.
        returned: ids of the results of frontend calls, which leave again, to be sent again.
        messages: rows to write: calls with the arguments that were proposed, where the claim wrote
            edited ones.
        now: the store's time.
    """
    asked = claim.record.batch is not None
    old = before.record
    return Change(
        record=replace(
            claim.record,
            status=ThreadStatus.INTERRUPTED if asked else ThreadStatus.IDLE,
            run=None,
            unheard=(*(old.unheard if old else ()), *said),
            pending_calls=old.pending_calls if old else (),
            handoff=old.handoff if old else None,
            returned=old.returned if old else (),
            past=True if returned else claim.record.past,
            checkpoint=None,
            # Without it nobody would go on with answers that are all stored.
            hold=old.hold if old else None,
        ),
        receipts=input_receipt(claim.record.run, "undelivered", now),
        interrupts=tuple(
            _as_before(ask, before.interrupts[ask.id], now)
            for ask in claim.interrupts
            if ask.status is InterruptStatus.CLAIMED
        ),
        messages=tuple(messages),
        superseded=tuple(returned),
    )


def _as_before(ask: Interrupt, before: Interrupt, now: float) -> Interrupt:
    """A claimed question as it was; who gave a held answer is named again."""
    undone = replace(ask, answer=before.answer, votes=before.votes)
    if before.status is InterruptStatus.ANSWERED:
        held = before.changes[-1]
        return moved(undone, before.status, now, held.actor, held.via)
    return moved(undone, before.status, now, "bridge")


def close_lost_claim(
    loaded: Loaded,
    record: ThreadRecord,
    claimed: Sequence[Interrupt],
    *,
    messages: Sequence[StoredMessage] = (),
) -> Change:
    """The store has lost a claim that was acted upon, and asks the same questions again.

    Who acted upon it closes them: what has a result is settled, the outcome of the rest is unknown.

    Args:
        loaded: the thread, interrupted as before the claim.
        record: the owner's record.
        claimed: the interrupts that the run carried out, as last written.
        messages: what the thread lacks of what was said.
    """
    now, batch = loaded.record, record.batch
    assert now is not None and batch is not None, "there was a claim, and its questions are there"
    lease = record.run.token if record.run else None
    return Change(
        record=replace(
            now,
            status=ThreadStatus.IDLE,
            run=None,
            batch=None,
            hold=None,
            closed=(*now.closed, ClosedBatch(batch.continuation, "lost")),
            ended=RunEnding(lease, "lost") if lease is not None else now.ended,
            memo=None,
        ),
        interrupts=tuple(
            moved(ask, InterruptStatus.INDETERMINATE, loaded.now, "bridge")
            if ask.status is InterruptStatus.CLAIMED
            else ask
            for ask in claimed
        ),
        receipts=(
            Receipt(
                batch=batch.id,
                outcome="lost",
                answers=answers_of(claimed),
                code="RUN_INDETERMINATE",
                lease=lease,
                at=loaded.now,
            ),
        ),
        messages=tuple(messages),
    )
