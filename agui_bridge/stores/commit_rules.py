"""What every backend decides alike: whether a write may happen, and what it makes of a record.

Pure functions. A backend finds the `Head` of the stored thread, asks here, and writes, all in
one transaction.
"""

from __future__ import annotations

from agui_bridge.errors import Conflict, Fenced
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.base import Expected

__all__ = ["WAITING", "Head", "check_commit", "join_stops", "lease_holds", "next_record", "renewed"]

WAITING = (InterruptStatus.OPEN, InterruptStatus.ANSWERED)
"""The statuses in which an interrupt can still expire."""


@dataclass(frozen=True, slots=True)
class Head:
    """What must be known of a stored thread before it is written to.

    Attributes:
        lease: token of the lease; None unless the thread is running.
        lease_ends_at: store time at which it ends.
    """

    version: int
    write_id: str
    created_at: float
    lease: str | None = None
    lease_ends_at: float | None = None
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
            lease_ends_at=run.ends_at if run else None,
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
        Conflict: the thread is missing, is there although it should not be, or has moved on;
            or the change comes too late.
    """
    if not_after is not None and now >= not_after:
        raise Conflict("the time to answer was over before the answer could be stored")
    if expected.lease is not None and not lease_holds(head, expected.lease, now):
        raise Fenced("the lease of this run is over or was taken over; its owner must stop")
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
        and head.lease_ends_at is not None
        and head.lease_ends_at > now
    )


def next_record(
    key: ThreadKey, change: Change, head: Head | None, write_id: str, now: float
) -> ThreadRecord:
    """The record as a commit stores it: the change's, with the store's own fields."""
    run = change.record.run
    if run is not None and change.lease_seconds is not None:
        run = replace(run, ends_at=now + change.lease_seconds)
    return replace(
        change.record,
        key=key,
        run=run,
        stop=head.stop if head else None,
        version=head.version + 1 if head else change.record.version,
        write_id=write_id,
        created_at=head.created_at if head else now,
        updated_at=now,
    )


def renewed(record: ThreadRecord, ends_at: float) -> ThreadRecord:
    """The record of a running thread whose lease holds on until then."""
    assert record.run is not None, "a lease that holds is a run's"
    return replace(record, version=record.version + 1, run=replace(record.run, ends_at=ends_at))


def join_stops(head: Head, stop: StopRequest) -> StopRequest:
    """What to store for a stop request: it never weakens or displaces one that counts."""
    stored = head.stop
    if stored is None or stored.token != stop.token:
        displaces = stored is not None and stored.token == head.lease
        return stored if stored is not None and displaces else stop
    if stop.force and not stored.force:
        return stop
    return replace(stored, until=min(stored.until, stop.until))
