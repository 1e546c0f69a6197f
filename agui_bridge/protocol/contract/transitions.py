"""How a thread changes: each admitted ruling and each end of a run as one `Change`.

Pure functions from a look at the thread to what shall be committed. The engine decides when,
the store decides whether (compare-and-swap). Status words are those of contract.md, "Records".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.requests import Hold, Resume
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.checkpoint import Checkpoint
from agui_bridge.protocol.threads.history import Rewritten, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.entries import words_of
from agui_bridge.protocol.threads.record_parts import AuditRow, Redaction, Watch
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    ReceiptOutcome,
    RecordedAnswer,
    RunLease,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)

VOTED: Final = "voted"
"""What the history says of an answer that waits for others."""

ESCALATED: Final = "escalated"
"""What it says of a step that its rule takes; the event of the notices, too."""

UNSEALED: Final = "unsealed"
"""What it says where votes, or an answer, were taken back that no sealed row tells of."""

VOTES_RESET: Final = "votes_reset"
"""What it says besides where that answer agreed to something else than those before it."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit writes. Rows are written by id; what is not named stays.

    Attributes:
        record: the new record; `version` counts only when the thread is new.
        interrupts: rows to write.
        receipts: rows to write.
        messages: rows to write, by message id.
        superseded: ids of messages that leave the context (they are kept).
        lease_seconds: the lease ends this long after the store's now; None leaves it.
        not_after: store time from which the change is refused: an answer that was in time when
            it was admitted may be committed too late.
        redactions: words of messages that the agent put others in the place of. A store seals
            them, if it has keys, and writes no more of them.
        audit: rows of the thread's audit chain, which are only ever added.
        drops_words: the text so far that was kept of its run (`Store.keep_words`) goes: it stands
            among the messages now, or its run is over.
        held_by: token of the hold that the pause had: whoever holds it is told.
    """

    record: ThreadRecord
    interrupts: tuple[Interrupt, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    messages: tuple[StoredMessage, ...] = ()
    superseded: tuple[str, ...] = ()
    lease_seconds: float | None = None
    not_after: float | None = None
    redactions: tuple[Redaction, ...] = ()
    audit: tuple[AuditRow, ...] = ()
    drops_words: bool = False
    held_by: str | None = None


def claim_start(
    loaded: Loaded,
    key: ThreadKey,
    lease: RunLease,
    *,
    fresh_version: int,
    closes_expired: bool,
    messages: Sequence[StoredMessage] = (),
    superseded: Sequence[str] = (),
    archived: Sequence[StoredMessage] = (),
    left_out: Sequence[str] = (),
    returned: Collection[str] = (),
    state: Json,
    lease_seconds: float | None = None,
    askers: Sequence[str] = (),
) -> Change:
    """Row 19 (and 10): the thread runs, the input's messages are stored with the claim.

    Results that it brings of frontend calls (`returned`) are taken by this run, once: if it is
    lost, the handoff that waited for them is over too. Where the client went back, what the adapter
    noted of the conversation goes with the messages that it was made of. So it does where the
    oldest turns leave for the thread's size (`archived`): they are written once more, with their
    mark. Of suspects that it leaves out (`left_out`) its agent is told as of those that were taken
    back.
    """
    record = loaded.record or ThreadRecord(key=key, version=fresh_version, begun_by=lease.actor)
    now = loaded.now
    closing = close_unanswered(loaded, "expired", lease.actor) if closes_expired else None
    if closing is not None:
        record = closing.record
    if returned:
        record = replace(_without_calls(record, returned), handoff=None)
    left = tuple(message.id for message in archived)
    if leaving := (*superseded, *left):
        kept = record.kept and record.kept.before(loaded.messages, leaving)
        gone = (*record.gone_calls, *_calls_in(loaded.messages, leaving))
        record = replace(
            record,
            memo=None,
            rewound=tuple(dict.fromkeys((*record.rewound, *superseded))),
            archived=(*record.archived, *left),
            gone_calls=gone,
            kept=kept,
            past=True,
        )
    if archived:
        until = max(record.archived_until or 0, *(message.position for message in archived))
        record = replace(record, archived_until=until)
    if left_out:
        record = replace(record, rewound=tuple(dict.fromkeys((*record.rewound, *left_out))))
    return Change(
        record=_running(record, lease, state, askers),
        interrupts=closing.interrupts if closing else (),
        receipts=(*(closing.receipts if closing else ()), *_claimed_input(lease, now)),
        messages=(*archived, *messages),
        superseded=leaving,
        lease_seconds=lease_seconds,
        held_by=loaded.held_by,
    )


def claim_resume(
    loaded: Loaded,
    ruling: Resume,
    lease: RunLease,
    *,
    messages: Sequence[StoredMessage] = (),
    returned: Collection[str] = (),
    state: Json,
    lease_seconds: float | None = None,
    askers: Sequence[str] = (),
    via: str | None = None,
) -> Change:
    """Row 18 (and 10b, 11): the claim. Whoever commits it is the one that executes."""
    record = _without_calls(existing(loaded), returned)
    return Change(
        record=_running(record, lease, state, askers),
        interrupts=tuple(
            _claimed(ask, ruling, loaded.now, lease.actor, via) for ask in loaded.batch_interrupts()
        ),
        receipts=_claimed_input(lease, loaded.now),
        messages=tuple(messages),
        lease_seconds=lease_seconds,
        not_after=_earliest(
            ask for ask in loaded.batch_interrupts() if ask.id not in ruling.expired
        ),
        held_by=loaded.held_by,
    )


def hold(
    loaded: Loaded,
    ruling: Hold,
    actor: str,
    via: str | None = None,
    *,
    messages: Sequence[StoredMessage] = (),
    state: Json = ...,
    context: Sequence[Mapping[str, Json]] = (),
    askers: Sequence[str] = (),
) -> Change:
    """Rows 17 and 17b: some answers of the batch, and votes, are kept until the rest is here.

    What else the input brings comes to the agent with the run that carries the answers out, and
    those who said something, or changed the state, are among the `askers` of that run.

    Args:
        loaded: the thread.
        ruling: what is kept of the batch.
        actor: who answers.
        via: through what.
        messages: what was said besides.
        state: the shared state from now on; ... where the input brings none.
        context: the input's; empty where it brings none.
        askers: who asks for the run, if the input asks for anything.
    """
    named = [
        ask
        for ask in loaded.batch_interrupts()
        if ask.id in ruling.answers or ask.id in ruling.votes
    ]
    record = existing(loaded)
    changes_state = state is not ... and not same_json(state, record.state)
    return Change(
        record=replace(
            record,
            state=state if changes_state else record.state,
            unheard=(*record.unheard, *(message.id for message in messages)),
            held_context=tuple(context) or record.held_context,
            askers=tuple(askers) if messages or changes_state else record.askers,
        ),
        messages=tuple(messages),
        interrupts=tuple(
            _held(ask, ruling, loaded.now, actor, via) for ask in named if ask.is_open
        ),
        # The cancel of what has expired is in time for ever: refused, it would be tried for ever.
        not_after=_earliest(ask for ask in named if not ask.expired(loaded.now)),
        held_by=loaded.held_by,
    )


def close_unanswered(
    loaded: Loaded,
    cause: Literal["expired", "stopped"],
    actor: str,
    messages: Sequence[StoredMessage] = (),
) -> Change:
    """Close an interrupted thread's batch without answers: it expired, or was stopped."""
    record = existing(loaded)
    assert record.batch is not None, "only an interrupted thread has an open batch"
    outcome: ReceiptOutcome = "expired" if cause == "expired" else "cancelled"
    status = InterruptStatus.EXPIRED if cause == "expired" else InterruptStatus.CANCELLED
    return Change(
        record=replace(
            record,
            status=ThreadStatus.IDLE,
            batch=None,
            run=None,
            hold=None,
            closed=(*record.closed, closed_as(record.batch, cause)),
            # What was said with it comes with the next run; by itself it is about what is over.
            held_context=record.held_context if record.unheard else (),
            # Whoever stops a thread wants nothing more of what it has begun.
            watch=record.watch if cause == "expired" else None,
        ),
        interrupts=tuple(
            moved(ask, status, loaded.now, actor) for ask in loaded.batch_interrupts()
        ),
        receipts=(Receipt(batch=record.batch.id, outcome=outcome, at=loaded.now),),
        messages=tuple(messages),
        held_by=loaded.held_by,
    )


def look(loaded: Loaded) -> Change:
    """Somebody looks after work that a run has left: whoever commits it is the one that looks."""
    record = existing(loaded)
    assert record.watch is not None, "there is something to look after"
    return Change(record=replace(record, watch=record.watch.looked(loaded.now)))


def end_watch(loaded: Loaded) -> Change:
    """A stop of a thread that does nothing: nobody looks after what it has left."""
    return Change(record=replace(existing(loaded), watch=None))


def flush(
    record: ThreadRecord,
    *,
    messages: Sequence[StoredMessage],
    state: Json,
    settled: Iterable[Interrupt] = (),
    rewritten: Iterable[Rewritten] = (),
    superseded: Sequence[str] = (),
    watch: Watch | None = None,
    checkpoint: Checkpoint | None = None,
    now: float,
) -> Change:
    """A running owner's write: what finished so far.

    Args:
        record: the owner's record.
        messages: rows to write.
        state: the shared state.
        settled: claimed interrupts whose gated call has its result among the messages; they
            are closed with the same commit, so that a crash later on can't unsettle them.
        rewritten: those of the messages whose words the agent put others in the place of.
        superseded: ids of messages that the agent took out of the conversation.
        watch: work that the run leaves by now; None where it has noted none. What stood before
            stays then: only the run's end takes it away.
        checkpoint: where the run stands by now; None where it stands as before.
        now: the store's time.
    """
    return Change(
        record=replace(
            record,
            state=state,
            watch=watch or record.watch,
            checkpoint=checkpoint or record.checkpoint,
            past=True if superseded else record.past,
        ),
        interrupts=tuple(closed_by_answer(ask, now, actor_of(record)) for ask in settled),
        messages=tuple(messages),
        superseded=tuple(superseded),
        redactions=redactions_of(record, rewritten, now),
    )


def redactions_of(
    record: ThreadRecord, rewritten: Iterable[Rewritten], now: float
) -> tuple[Redaction, ...]:
    """What the running owner's write tells the audit chain of words that the agent took back."""
    run = record.run.run_id if record.run is not None else ""
    return tuple(
        Redaction(after["id"], run, actor_of(record), now, words_of(before), words_of(after))
        for before, after in rewritten
    )


def keep_results(
    loaded: Loaded, messages: Sequence[StoredMessage], returned: Collection[str]
) -> Change:
    """Row 18b: results of frontend calls are kept until all are here, and late ones for ever.

    Args:
        loaded: the idle thread.
        messages: rows to write.
        returned: ids of the calls that wait no longer for a result of their own.
    """
    record = existing(loaded)
    waited_for = tuple(dict.fromkeys((*record.returned, *returned)))
    told = {m.message["toolCallId"] for m in messages} - {*record.pending_calls}
    kept = record.kept.but(told) if record.kept is not None and told else record.kept
    return Change(record=replace(record, returned=waited_for, kept=kept), messages=tuple(messages))


def input_receipt(
    run: RunLease | None,
    outcome: ReceiptOutcome,
    at: float,
    *,
    code: str | None = None,
) -> tuple[Receipt, ...]:
    """What became of the input that began a run: one row to write, or none."""
    if run is None or run.receipt is None:
        return ()
    return (Receipt(run.receipt, outcome, code=code, lease=run.token, at=at),)


def _claimed_input(lease: RunLease, at: float) -> tuple[Receipt, ...]:
    return input_receipt(lease, "claimed", at)


def _running(
    record: ThreadRecord, lease: RunLease, state: Json, askers: Sequence[str]
) -> ThreadRecord:
    return replace(
        record,
        status=ThreadStatus.RUNNING,
        run=lease,
        hold=None,
        state=state,
        # What a run that is lost has told its agent is unknown: nothing is told twice.
        unheard=(),
        held_context=(),
        # They come to the agent with this run, or never.
        returned=(),
        askers=tuple(askers),
    )


def _claimed(ask: Interrupt, ruling: Resume, now: float, actor: str, via: str | None) -> Interrupt:
    answered = replace(
        ask, answer=ruling.answers[ask.id], votes=ruling.votes.get(ask.id, ask.votes)
    )
    if ask.is_timer and ask.id in ruling.expired:
        actor = "bridge"  # It was time that answered.
    return moved(answered, InterruptStatus.CLAIMED, now, actor, via)


def _held(ask: Interrupt, ruling: Hold, now: float, actor: str, via: str | None) -> Interrupt:
    votes = ruling.votes.get(ask.id, ask.votes)
    if ask.id in ruling.answers:
        answered = replace(ask, answer=ruling.answers[ask.id], votes=votes)
        return moved(answered, InterruptStatus.ANSWERED, now, actor, via)
    rule = ask.rule.name if ask.rule is not None else None
    said = [AuditEntry(InterruptStatus.OPEN, now, actor, via, rule, VOTED)]
    if {vote.actor for vote in ask.votes} - {vote.actor for vote in votes}:
        said.append(AuditEntry(InterruptStatus.OPEN, now, actor, via, rule, VOTES_RESET))
    return replace(ask, votes=votes, audit=(*ask.audit, *said))


def _earliest(asks: Iterable[Interrupt]) -> float | None:
    """When the first of some questions expires."""
    return min((ask.expires_at for ask in asks if ask.expires_at is not None), default=None)


def _without_calls(record: ThreadRecord, returned: Collection[str]) -> ThreadRecord:
    """A record in which frontend calls whose results are here wait no longer."""
    left = tuple(call for call in record.pending_calls if call not in returned)
    return replace(record, pending_calls=left)


def _calls_in(messages: Iterable[StoredMessage], ids: Collection[str]) -> Iterator[str]:
    """Ids of the tool calls of some messages."""
    return (
        call["id"]
        for stored in messages
        if stored.id in ids
        for call in stored.message.get("toolCalls") or ()
    )


def existing(loaded: Loaded) -> ThreadRecord:
    """The record of a thread that there is."""
    assert loaded.record is not None, "admission only decides so on a thread that exists"
    return loaded.record


def answers_of(asks: Iterable[Interrupt]) -> dict[str, RecordedAnswer]:
    """The answers that were given, by interrupt id."""
    return {ask.id: ask.answer for ask in asks if ask.answer is not None}


def closed_as(batch: Batch, cause: Literal["expired", "stopped", "lost"]) -> ClosedBatch:
    """A batch as its adapter hears that it is over."""
    return ClosedBatch(batch.continuation, cause)


def moved(
    ask: Interrupt, status: InterruptStatus, at: float, actor: str, via: str | None = None
) -> Interrupt:
    """An interrupt in another status, with the change in its history."""
    by_person = status in (InterruptStatus.ANSWERED, InterruptStatus.CLAIMED)
    rule = ask.rule.name if by_person and ask.rule is not None else None
    entry = AuditEntry(status, at, actor, via, rule)
    return replace(ask, status=status, audit=(*ask.audit, entry))


def closed_by_answer(ask: Interrupt, at: float, actor: str, *, expired: bool = False) -> Interrupt:
    """Close a claimed interrupt with the status that its answer means.

    What had expired when it was claimed is known from the record itself, so that a result that
    is stored on the way says "expired" as the run's end would.
    """
    if expired or (ask.changes and ask.expired(ask.changes[-1].at)):
        status = InterruptStatus.EXPIRED
    elif ask.answer is not None and ask.answer.status == "cancelled":
        status = InterruptStatus.CANCELLED
    else:
        status = InterruptStatus.RESOLVED
    return moved(ask, status, at, actor)


def actor_of(record: ThreadRecord) -> str:
    """Who is named for what a run does to interrupts: whoever began it."""
    return record.run.actor if record.run is not None else "bridge"
