"""What every backend decides alike: whether a write may happen, and what it makes of a record.

Pure functions. A backend finds the `Head` of the stored thread, asks here, and writes, all in
one transaction.
"""

from __future__ import annotations

from agui_bridge.errors import Conflict, Fenced, WritesLost
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.lease_term import LeaseTerm
from agui_bridge.protocol.threads.loaded import Loaded
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

__all__ = [
    "WAITING",
    "Head",
    "check_commit",
    "given",
    "is_in_doubt",
    "join_stops",
    "lease_holds",
    "next_record",
    "not_in_force",
    "renewed",
]

WAITING = (InterruptStatus.OPEN, InterruptStatus.ANSWERED)
"""The statuses in which an interrupt can still expire."""


@dataclass(frozen=True, slots=True)
class Head:
    """What must be known of a stored thread before it is written to.

    Attributes:
        lease: token of the lease; None unless the thread is running.
        term: how long that lease holds.
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
        run = record.run if record.status is ThreadStatus.RUNNING else None
        return cls(
            version=record.version,
            write_id=record.write_id,
            created_at=record.created_at,
            lease=run.token if run else None,
            term=run.term if run else None,
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
    run = change.record.run
    if run is not None and change.lease_seconds is not None:
        run = given(run, now, change.lease_seconds)
    if run is not None and change.record.status is not ThreadStatus.RUNNING:
        run = not_in_force(run)
    return replace(
        change.record,
        key=key,
        run=run,
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


def not_in_force(run: RunLease) -> RunLease:
    """What is kept of the lease of a thread that is not running: nobody judges it."""
    if run.given_at is None and run.doubted_until is None:
        return run
    return replace(run, given_at=None, doubted_until=None)


def renewed(record: ThreadRecord, now: float, seconds: float) -> ThreadRecord:
    """The record of a running thread whose lease holds on for so long."""
    assert record.run is not None, "a lease that holds is a run's"
    run = given(record.run, now, seconds)
    return replace(record, version=record.version + 1, run=run)


def is_in_doubt(loaded: Loaded) -> bool:
    """Whether the lease of a thread ends too late, which nobody has noted (see `LeaseTerm`)."""
    return loaded.run is not None and loaded.run.term.doubt(loaded.now) is not None


def join_stops(head: Head, stop: StopRequest) -> StopRequest:
    """What to store for a stop request: it never weakens or displaces one that counts."""
    stored = head.stop
    if stored is None or stored.token != stop.token:
        displaces = stored is not None and stored.token == head.lease
        return stored if stored is not None and displaces else stop
    if stop.force and not stored.force:
        return stop
    return replace(stored, until=min(stored.until, stop.until))
