"""What every backend decides alike: whether a write may happen, and what it makes of a record.

Pure functions. A backend finds the `Head` of the stored thread, asks here, and writes, all in
one transaction.
"""

from __future__ import annotations

from agui_bridge.errors import Conflict, Fenced, WritesLost
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import LeaseTerm, PauseHold
from agui_bridge.protocol.threads.records import (
    RECORD_FORMAT,
    InterruptStatus,
    RunLease,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.base import Expected

WAITING = (InterruptStatus.OPEN, InterruptStatus.ANSWERED)
"""The statuses in which an interrupt can still expire."""


@dataclass(frozen=True, slots=True)
class Head:
    """What must be known of a stored thread before it is written to.

    Attributes:
        lease: token of the lease of a running thread, or of an interrupted one's hold.
        term: how long that holds.
    """

    version: int
    write_id: str
    created_at: float
    lease: str | None = None
    term: LeaseTerm | None = None
    stop: StopRequest | None = None

    @classmethod
    def of(cls, record: ThreadRecord) -> Head:
        """The head of a whole record."""
        held: RunLease | PauseHold | None = None
        if record.status is ThreadStatus.RUNNING:
            held = record.run
        elif record.status is ThreadStatus.INTERRUPTED:
            held = record.hold
        return cls(
            version=record.version,
            write_id=record.write_id,
            created_at=record.created_at,
            lease=held.token if held else None,
            term=held.term if held else None,
            stop=record.stop,
        )


def check_commit(
    head: Head | None, expected: Expected, now: float, not_after: float | None = None
) -> None:
    """Let a write pass, or raise.

    Args:
        head: of the stored thread; None when there is none.
        expected: the guard.
        now: the store's time.
        not_after: of the change (see `Change.not_after`).

    Raises:
        Fenced: the guard names a lease that is over or another's (a thread that is gone has
            none).
        WritesLost: the owner's last write is not the one that is stored.
        Conflict: the thread is missing, is there although it should not be, or has moved on;
            or the change comes too late.
    """
    if not_after is not None and now >= not_after:
        raise Conflict("the time to answer was over before the answer could be stored")
    if expected.lease is not None and not lease_holds(head, expected.lease, now):
        raise Fenced("the lease of this run is over or was taken over; its owner must stop")
    if expected.after is not None and head is not None and head.write_id != expected.after:
        raise WritesLost("the store lacks what this run has written last")
    if expected.version is None:
        if expected.lease is None and head is not None:
            raise Conflict("the thread exists already")
    elif head is None:
        raise Conflict("there is no such thread")
    elif head.version != expected.version:
        raise Conflict("the thread was changed by somebody else")


def lease_holds(head: Head | None, token: str, now: float) -> bool:
    """Whether a thread runs under a lease that is not over."""
    return (
        head is not None
        and head.lease == token
        and head.term is not None
        and not head.term.is_over(now)
    )


def next_record(
    key: ThreadKey, change: Change, head: Head | None, write_id: str, now: float
) -> ThreadRecord:
    """The record as a commit stores it: the change's, with the store's own fields."""
    run, hold, seconds = change.record.run, change.record.hold, change.lease_seconds
    if run is not None and seconds is not None:
        run = given(run, now, seconds)
    elif hold is not None and seconds is not None:
        hold = held_on(hold, now, seconds)
    if run is not None and change.record.status is not ThreadStatus.RUNNING:
        run = not_in_force(run)
    return replace(
        change.record,
        key=key,
        run=run,
        hold=hold,
        stop=head.stop if head else None,
        version=head.version + 1 if head else change.record.version,
        write_id=write_id,
        created_at=head.created_at if head else now,
        updated_at=now,
        format=RECORD_FORMAT,
    )


def given(run: RunLease, now: float, seconds: float) -> RunLease:
    """The lease of a run, given or renewed now for so long."""
    return replace(run, ends_at=now + seconds, given_at=now, doubted_until=None)


def held_on(hold: PauseHold, now: float, seconds: float) -> PauseHold:
    """The hold of a pause, taken or renewed now for so long."""
    return PauseHold(hold.token, LeaseTerm(now + seconds, now))


def not_in_force(run: RunLease) -> RunLease:
    """What is kept of the lease of a thread that is not running: nobody judges it."""
    if run.given_at is None and run.doubted_until is None:
        return run
    return replace(run, given_at=None, doubted_until=None)


def term_written(record: ThreadRecord) -> LeaseTerm | None:
    """The times that stores keep apart from a record's text: the lease's, or the hold's.

    Also of a lease that is not in force: the database may be who computes it.
    """
    if record.hold is not None and record.status is not ThreadStatus.RUNNING:
        return record.hold.term
    return record.run.term if record.run is not None else None


def with_term(record: ThreadRecord, term: LeaseTerm | None) -> ThreadRecord:
    """A record with the times that `term_written` gave of it, which its text does not have."""
    if term is None:
        return record
    running = record.status is ThreadStatus.RUNNING
    if record.hold is not None and not running:
        return replace(record, hold=replace(record.hold, term=term))
    if (run := record.run) is None:
        return record
    given_at, until = term.given_at, term.doubted_until
    run = replace(run, ends_at=term.ends_at, given_at=given_at, doubted_until=until)
    return replace(record, run=run if running else not_in_force(run))


def renewed(record: ThreadRecord, now: float, seconds: float) -> ThreadRecord:
    """The record of a thread whose lease, or hold, holds on for so long."""
    if record.hold is not None:
        # Whoever answers meanwhile has seen the same questions: no version changes.
        return replace(record, hold=held_on(record.hold, now, seconds))
    assert record.run is not None, "a lease that holds is a run's"
    run = given(record.run, now, seconds)
    return replace(record, version=record.version + 1, run=run)


def is_in_doubt(loaded: Loaded) -> bool:
    """Whether the lease of a thread ends too late, which nobody has noted (see `LeaseTerm`)."""
    held = loaded.run or loaded.hold
    return held is not None and held.term.doubt(loaded.now) is not None


def join_stops(head: Head, stop: StopRequest) -> StopRequest:
    """What to store for a stop request: it never weakens or displaces one that counts."""
    stored = head.stop
    if stored is None or stored.token != stop.token:
        displaces = stored is not None and stored.token == head.lease
        return stored if stored is not None and displaces else stop
    if stop.force and not stored.force:
        return stop
    return replace(stored, until=min(stored.until, stop.until))
