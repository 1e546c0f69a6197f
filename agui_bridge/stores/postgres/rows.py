"""Changes as parameters of PostgreSQL's statements, and their rows as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.records import RECORD_FORMAT, ThreadKey, ThreadRecord
from agui_bridge.stores import codec
from agui_bridge.stores.base import Change, Committed
from agui_bridge.stores.commit_rules import term_written, with_term
from agui_bridge.stores.sql.rows import (
    read_stop,
    read_thread,
    term_if_any,
    thread_row,
    tool_column,
)

Values = dict[str, Any]


def head_values(change: Change, write_id: str) -> Values:
    """The parameters of the thread's own row."""
    record = change.record
    row, term = thread_row(record), term_written(record)
    return {
        "new_version": record.version,
        "status": row["status"],
        "batch": row["batch"],
        "lease": row["lease"],
        # Also of a lease that is not in force: the database may be who computes it.
        "lease_ends_at": term.ends_at if term else record.look_at,
        "lease_given_at": term and term.given_at,
        "lease_doubted_until": term and term.doubted_until,
        "lease_seconds": change.lease_seconds if term else None,
        "write_id": write_id,
        "data": row["data"],
    }


def change_values(change: Change) -> tuple[dict[str, bool], Values]:
    """Which rows a change has, and their parameters, one array for each column."""
    # A statement can't write a row twice: the last of those with one id counts.
    asks = {ask.id: ask for ask in change.interrupts}.values()
    receipts = {receipt.batch: receipt for receipt in change.receipts}.values()
    messages = {message.id: message for message in change.messages}
    superseded = set(change.superseded)
    others = [id for id in change.superseded if id not in messages]
    values = {
        "interrupts_id": [ask.id for ask in asks],
        "interrupts_batch": [ask.batch for ask in asks],
        "interrupts_position": [ask.position for ask in asks],
        "interrupts_status": [ask.status.value for ask in asks],
        "interrupts_expires_at": [ask.expires_at for ask in asks],
        "interrupts_tool": [tool_column(ask) for ask in asks],
        "interrupts_data": [codec.encode_interrupt(ask) for ask in asks],
        "receipts_batch": [receipt.batch for receipt in receipts],
        "receipts_data": [codec.encode_receipt(receipt) for receipt in receipts],
        "messages_id": list(messages),
        "messages_position": [message.position for message in messages.values()],
        "messages_superseded": [id in superseded for id in messages],
        "messages_data": [codec.encode(message.message) for message in messages.values()],
        "superseded": others,
        "audit_id": [row.id for row in change.audit],
        "audit_written_at": [row.written_at for row in change.audit],
        "audit_data": [row.data for row in change.audit],
    }
    present = {
        "interrupts": bool(asks),
        "receipts": bool(receipts),
        "messages": bool(messages),
        "superseded": bool(others),
        "audit": bool(change.audit),
        "words": change.drops_words,
    }
    return present, values


def read_record(row: Sequence[Any]) -> ThreadRecord | None:
    """A record, from the columns of `statements.RECORD`; None if all are null."""
    return None if row[0] is None else read_thread(row)


def read_committed(key: ThreadKey, change: Change, write_id: str, row: Sequence[Any]) -> Committed:
    """What a commit has stored: the change's record, with what the database says of it."""
    version, created_at, updated_at, ends_at, given_at, doubted_until, *stop = row
    record = replace(
        with_term(change.record, term_if_any(ends_at, given_at, doubted_until)),
        key=key,
        version=version,
        stop=None if stop[0] is None else read_stop(stop),
        write_id=write_id,
        created_at=created_at,
        updated_at=updated_at,
        format=RECORD_FORMAT,
    )
    return Committed(record, updated_at)
