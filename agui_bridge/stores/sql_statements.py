"""The statements of the SQL stores, built once for each store.

They are the same for every database, but for the `insert` that knows ON CONFLICT, which each
dialect of SQLAlchemy brings along. Parameters of guards begin with `k_`, because an UPDATE
takes the bare names of columns for its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from agui_bridge.protocol.records import InterruptStatus, ThreadKey, ThreadStatus
from agui_bridge.stores.rules import WAITING
from agui_bridge.stores.sql_tables import KEY, STOP, interrupts, messages, receipts, threads

__all__ = ["Statements", "key_of", "key_parameters"]

RECORD = (
    *(threads.c[name] for name in (*KEY, "data", "status", "version", "write_id")),
    *(threads.c[name] for name in ("created_at", "updated_at", *STOP)),
)
"""What `sql_rows.read_thread` reads, in its order."""


def key_of(table: Table) -> ColumnElement[bool]:
    """The condition that a row belongs to the thread of the parameters."""
    return and_(*(table.c[name] == bindparam(f"k_{name}") for name in KEY))


def key_parameters(key: ThreadKey) -> dict[str, Any]:
    """The parameters of `key_of`."""
    return {"k_scope": key.scope, "k_agent": key.agent, "k_thread": key.thread}


def _same_thread(one: Table, other: Table) -> ColumnElement[bool]:
    return and_(*(one.c[name] == other.c[name] for name in KEY))


class Statements:
    """Every statement that needs no arguments to be built."""

    def __init__(self, insert: Callable[[Table], Any]) -> None:
        """Build them.

        Args:
            insert: the dialect's own, with `on_conflict_do_update`.
        """
        head = ("version", "write_id", "created_at", "lease", "lease_ends_at", *STOP)
        self.head = (
            select(*(threads.c[name] for name in head)).where(key_of(threads)).with_for_update()
        )
        self.record = select(*RECORD).where(key_of(threads))
        self.mark = select(
            *(threads.c[name] for name in ("version", "stop_token", "stop_force", "stop_until"))
        ).where(key_of(threads))
        self.stops = select(*(threads.c[name] for name in STOP)).where(
            threads.c.stop_token.in_(bindparam("tokens", expanding=True))
        )
        self.insert_thread = insert(threads)
        self.update_thread = update(threads).where(key_of(threads))
        self.delete_thread = delete(threads).where(key_of(threads))

        self.put_interrupts = _upsert(insert, interrupts, "id", keeping="raised_at")
        self.put_receipts = _upsert(insert, receipts, "batch")
        self.put_messages = _upsert(insert, messages, "id")
        self.supersede = (
            update(messages)
            .where(key_of(messages), messages.c.id == bindparam("k_id"))
            .values(superseded=True)
        )

        self.batches = (
            select(interrupts.c.batch)
            .where(key_of(interrupts), interrupts.c.id.in_(bindparam("k_ids", expanding=True)))
            .distinct()
        )
        self.interrupts = select(interrupts.c.data).where(
            key_of(interrupts), interrupts.c.batch.in_(bindparam("k_batches", expanding=True))
        )
        self.receipts = select(receipts.c.data).where(
            key_of(receipts), receipts.c.batch.in_(bindparam("k_batches", expanding=True))
        )
        message = (messages.c.id, messages.c.position, messages.c.data)
        self.history = (
            select(*message).where(key_of(messages)).order_by(messages.c.position, messages.c.id)
        )
        self.context = self.history.where(messages.c.superseded.is_(False))

        self.leases_over = (
            select(*(threads.c[name] for name in KEY))
            .where(threads.c.lease_ends_at <= bindparam("now"))
            .order_by(threads.c.lease_ends_at)
            .limit(bindparam("limit"))
        )
        self.batches_expired = _batches_expired()
        self.old = (
            select(*(threads.c[name] for name in KEY))
            .where(
                threads.c.updated_at <= bindparam("latest"),
                threads.c.status == ThreadStatus.IDLE.value,
            )
            .order_by(threads.c.updated_at, *(threads.c[name] for name in KEY))
            .limit(bindparam("limit"))
            .with_for_update()
        )
        self.threads = _threads()

    @staticmethod
    def list_interrupts(*, agent: bool, thread: bool, status: bool, unexpired: bool) -> Select[Any]:
        """The list of a scope's interrupts, with the filters that are wanted."""
        names = ("scope", *(n for n, wanted in (("agent", agent), ("thread", thread)) if wanted))
        names = (*names, "status") if status else names
        conditions = [interrupts.c[name] == bindparam(f"k_{name}") for name in names]
        if unexpired:
            conditions.append(_later(interrupts.c.expires_at))
        order = ("raised_at", "agent", "thread", "position", "id")
        return (
            select(*(interrupts.c[name] for name in (*KEY, "data")))
            .where(*conditions)
            .order_by(*(interrupts.c[name] for name in order))
            .limit(bindparam("limit"))
        )


def _upsert(
    insert: Callable[[Table], Any], table: Table, id: str, keeping: str | None = None
) -> Any:
    """Write rows by their id, leaving the column `keeping` of rows that are there already."""
    statement = insert(table)
    kept = {*KEY, id, keeping}
    # A column collection iterates over columns, not over names: keys() is no redundancy.
    return statement.on_conflict_do_update(
        index_elements=[*KEY, id],
        set_={name: statement.excluded[name] for name in table.c.keys() if name not in kept},  # noqa: SIM118
    )


def _later(expires_at: Column[Any]) -> ColumnElement[bool]:
    return or_(expires_at.is_(None), expires_at > bindparam("now"))


def _batches_expired() -> Select[Any]:
    sibling = interrupts.alias()
    lives = exists().where(
        *(sibling.c[name] == threads.c[name] for name in (*KEY, "batch")),
        _later(sibling.c.expires_at),
    )
    key = [threads.c[name] for name in KEY]
    return (
        select(*key)
        .join_from(
            interrupts,
            threads,
            and_(_same_thread(interrupts, threads), interrupts.c.batch == threads.c.batch),
        )
        .where(
            interrupts.c.status.in_([status.value for status in WAITING]),
            interrupts.c.expires_at <= bindparam("now"),
            threads.c.status == ThreadStatus.INTERRUPTED.value,
            ~lives,
        )
        .group_by(*key)
        .order_by(func.max(interrupts.c.expires_at))
        .limit(bindparam("limit"))
    )


def _threads() -> Select[Any]:
    in_context = (
        select(func.count())
        .where(_same_thread(messages, threads), messages.c.superseded.is_(False))
        .scalar_subquery()
    )
    waiting = (
        select(func.count())
        .where(
            _same_thread(interrupts, threads),
            interrupts.c.status == InterruptStatus.OPEN.value,
            _later(interrupts.c.expires_at),
        )
        .scalar_subquery()
    )
    return (
        select(*RECORD, in_context, waiting)
        .where(
            threads.c.scope == bindparam("k_scope"),
            threads.c.agent == bindparam("k_agent"),
            threads.c.updated_at < bindparam("before"),
        )
        .order_by(threads.c.updated_at.desc(), threads.c.thread)
        .limit(bindparam("limit"))
    )
