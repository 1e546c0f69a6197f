"""What transactions of `SqliteStore` write once they have decided to."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey, ThreadRecord
from agui_bridge.stores.sql.rows import (
    audit_row,
    interrupt_row,
    key_row,
    message_row,
    receipt_row,
    thread_row,
)
from agui_bridge.stores.sqlite import statements

__all__ = ["put_rows", "put_thread", "renew_leases"]


def put_thread(connection: sqlite3.Connection, record: ThreadRecord, *, new: bool) -> None:
    """Write a thread's own row."""
    statement = statements.INSERT_THREAD if new else statements.UPDATE_THREAD
    connection.execute(statement, key_row(record.key) | thread_row(record))


def put_rows(connection: sqlite3.Connection, key: ThreadKey, change: Change, now: float) -> None:
    """Write the other rows of a change."""
    columns = key_row(key)
    if change.interrupts:
        connection.executemany(
            statements.PUT_INTERRUPTS,
            [interrupt_row(columns, ask, now) for ask in change.interrupts],
        )
    if change.receipts:
        connection.executemany(
            statements.PUT_RECEIPTS,
            [receipt_row(columns, receipt) for receipt in change.receipts],
        )
    if change.messages:
        connection.executemany(
            statements.PUT_MESSAGES,
            [message_row(columns, message) for message in change.messages],
        )
    if change.audit:
        connection.executemany(
            statements.PUT_AUDIT, [audit_row(columns, row) for row in change.audit]
        )
    if change.superseded:
        connection.executemany(
            statements.SUPERSEDE, [columns | {"id": id} for id in change.superseded]
        )
    if change.drops_words:
        connection.execute(statements.DROP_WORDS, columns)


def renew_leases(
    connection: sqlite3.Connection, leases: Mapping[str, ThreadKey], now: float, ends_at: float
) -> frozenset[str]:
    """Have leases end at a time, those that hold now; gives the tokens of these."""
    held = set()
    for token, key in leases.items():
        values = key_row(key) | {"token": token, "now": now, "ends_at": ends_at}
        if connection.execute(statements.RENEW, values).rowcount:
            held.add(token)
    return frozenset(held)
