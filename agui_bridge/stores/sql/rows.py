"""Records as rows of the SQL stores, and back."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.lease_term import LeaseTerm
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Receipt,
    RunLease,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores import codec
from agui_bridge.stores.base import InterruptRow, Place
from agui_bridge.stores.commit_rules import Head, not_in_force

__all__ = [
    "audit_row",
    "filter_values",
    "interrupt_row",
    "key_row",
    "message_row",
    "place_values",
    "read_head",
    "read_interrupt",
    "read_message",
    "read_messages",
    "read_stop",
    "read_thread",
    "receipt_row",
    "stop_row",
    "thread_row",
    "with_term",
]

Row = Sequence[Any]
Values = dict[str, Any]


def key_row(key: ThreadKey) -> Values:
    """The columns of a key."""
    return {"scope": key.scope, "agent": key.agent, "thread": key.thread}


def thread_row(record: ThreadRecord) -> Values:
    """What a commit writes of a thread: all but its key and its stop request."""
    head = Head.of(record)
    term = head.term
    return {
        "version": record.version,
        "status": record.status.value,
        "batch": record.batch.id if record.batch else None,
        "lease": head.lease,
        "lease_ends_at": term and term.ends_at,
        "lease_given_at": term and term.given_at,
        "lease_doubted_until": term and term.doubted_until,
        "write_id": record.write_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "data": codec.encode_thread(record),
    }


def stop_row(stop: StopRequest) -> Values:
    """The columns of a stop request."""
    return {
        "stop_token": stop.token,
        "stop_force": stop.force,
        "stop_until": stop.until,
        "stop_actor": stop.actor,
    }


def interrupt_row(key: Values, ask: Interrupt, now: float) -> Values:
    """A row of an interrupt; `now` counts only when it is new."""
    return {
        **key,
        "id": ask.id,
        "batch": ask.batch,
        "position": ask.position,
        "status": ask.status.value,
        "expires_at": ask.expires_at,
        "tool": ask.tool,
        "raised_at": now,
        "data": codec.encode_interrupt(ask),
    }


def read_interrupt(row: Row) -> InterruptRow:
    """An interrupt in a list, from its key, data and time."""
    *key, data, raised_at = row
    return InterruptRow(ThreadKey(*key), codec.decode_interrupt(data), raised_at)


def filter_values(
    *, agent: str | None, tool: str | None, thread: str | None, status: InterruptStatus | None
) -> Values:
    """The filters of a list of interrupts that are wanted, by their columns."""
    word = status and status.value
    filters = {"agent": agent, "tool": tool, "thread": thread, "status": word}
    return {name: value for name, value in filters.items() if value is not None}


def place_values(place: Place | None) -> Values:
    """The parameters of the place behind which a list begins, if there is one."""
    if place is None:
        return {}
    names = ("raised", "agent", "thread", "position", "id")
    return {f"after_{name}": part for name, part in zip(names, place, strict=True)}


def receipt_row(key: Values, receipt: Receipt) -> Values:
    """A row of a receipt."""
    return {**key, "batch": receipt.batch, "data": codec.encode_receipt(receipt)}


def audit_row(key: Values, row: AuditRow) -> Values:
    """A row of the audit chain."""
    return {**key, "id": row.id, "written_at": row.written_at, "data": row.data}


def message_row(key: Values, message: StoredMessage) -> Values:
    """A row of a message, in context."""
    return {
        **key,
        "id": message.id,
        "position": message.position,
        "superseded": False,
        "data": codec.encode(message.message),
    }


def words_row(key: Values, lease: str, said: StoredMessage) -> Values:
    """The row of what a run is saying."""
    text = codec.encode([said.id, said.position, said.message])
    return {**key, "lease": lease, "data": text}


def read_words(data: str) -> StoredMessage:
    """What a run is saying, from its data."""
    return StoredMessage(*codec.decode(data))


def read_head(row: Row) -> Head:
    """The head of a thread, from the columns of `Statements.head`."""
    version, write_id, created_at, lease, ends, given, doubted, *stop = row
    term = None if ends is None else LeaseTerm(ends, given, doubted)
    return Head(version, write_id, created_at, lease, term, _stop_if_any(stop))


def read_thread(row: Row) -> ThreadRecord:
    """A record, from the columns `tables.RECORD`."""
    scope, agent, thread, data, status, version, write_id, created_at, updated_at, *more = row
    (*term, token, force, until, actor) = more
    record = codec.decode_thread(data, ThreadKey(scope, agent, thread))
    return replace(
        record,
        run=with_term(ThreadStatus(status), record.run, *term),
        status=ThreadStatus(status),
        version=version,
        stop=_stop_if_any((token, force, until, actor)),
        write_id=write_id,
        created_at=created_at,
        updated_at=updated_at,
    )


def with_term(
    status: ThreadStatus,
    run: RunLease | None,
    ends_at: float | None,
    given_at: float | None,
    doubted_until: float | None = None,
) -> RunLease | None:
    """The lease with its times, which the text does not have where they were computed."""
    if run is None or ends_at is None:
        return run
    run = replace(run, ends_at=ends_at, given_at=given_at, doubted_until=doubted_until)
    return run if status is ThreadStatus.RUNNING else not_in_force(run)


def read_message(row: Row) -> StoredMessage:
    """A message, from its id, position and data."""
    id, position, data = row
    return StoredMessage(id, position, codec.decode(data))


def read_messages(text: str | None) -> tuple[StoredMessage, ...]:
    """Messages in order, from what `sqlite.statements.load` gives of them."""
    rows: list[Any] = codec.decode(text) if text else []
    # The order of the database's: by code points too.
    return tuple(StoredMessage(*row) for row in sorted(rows, key=itemgetter(1, 0)))


def read_stop(row: Row) -> StopRequest:
    """A stop request, from the columns `tables.STOP`."""
    token, force, until, actor = row
    # SQLite has no booleans: it gives 0 or 1.
    return StopRequest(token, bool(force), until, actor)


def _stop_if_any(row: Row) -> StopRequest | None:
    return None if row[0] is None else read_stop(row)
