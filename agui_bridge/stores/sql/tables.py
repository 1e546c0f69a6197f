"""The tables of the SQL stores. Migrations make them; a test compares the two.

What guards and queries need is columns, the rest is JSON text (see `codec`). Names carry a
prefix because a database may be shared with the application that mounts the bridge.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    MetaData,
    Table,
    Text,
)

__all__ = ["KEY", "STOP", "interrupts", "messages", "metadata", "receipts", "threads"]

KEY = ("scope", "agent", "thread")
"""The columns of a `ThreadKey`; every table's primary key begins with them."""

STOP = ("stop_token", "stop_force", "stop_until", "stop_actor")
"""The columns of a `StopRequest`."""

metadata = MetaData()


def _key() -> list[Column[str]]:
    return [Column(name, Text, primary_key=True) for name in KEY]


def _belongs_to_thread() -> ForeignKeyConstraint:
    return ForeignKeyConstraint(KEY, [f"agui_threads.{name}" for name in KEY], ondelete="CASCADE")


threads = Table(
    "agui_threads",
    metadata,
    *_key(),
    Column("version", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("batch", Text),
    # Both are null unless the thread is running.
    Column("lease", Text),
    Column("lease_ends_at", Double),
    Column("write_id", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("data", Text, nullable=False),
    # A commit never writes these.
    Column("stop_token", Text),
    Column("stop_force", Boolean),
    Column("stop_until", Double),
    Column("stop_actor", Text),
)
Index("agui_threads_by_touch", threads.c.scope, threads.c.agent, threads.c.updated_at)
Index("agui_threads_by_age", threads.c.updated_at)
for _name, _column in (("lease", threads.c.lease_ends_at), ("stop", threads.c.stop_token)):
    _present = _column.is_not(None)
    Index(f"agui_threads_by_{_name}", _column, sqlite_where=_present, postgresql_where=_present)

messages = Table(
    "agui_messages",
    metadata,
    *_key(),
    Column("id", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("superseded", Boolean, nullable=False),
    Column("data", Text, nullable=False),
    _belongs_to_thread(),
)
Index(
    "agui_messages_in_order",
    *(messages.c[name] for name in KEY),
    messages.c.superseded,
    messages.c.position,
)

interrupts = Table(
    "agui_interrupts",
    metadata,
    *_key(),
    Column("id", Text, primary_key=True),
    Column("batch", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("expires_at", Double),
    # Store time of the first commit; later ones leave it.
    Column("raised_at", Double, nullable=False),
    Column("data", Text, nullable=False),
    _belongs_to_thread(),
)
Index("agui_interrupts_by_batch", *(interrupts.c[name] for name in KEY), interrupts.c.batch)
Index("agui_interrupts_by_status", interrupts.c.scope, interrupts.c.status, interrupts.c.raised_at)
Index("agui_interrupts_by_expiry", interrupts.c.status, interrupts.c.expires_at)

receipts = Table(
    "agui_receipts",
    metadata,
    *_key(),
    Column("batch", Text, primary_key=True),
    Column("data", Text, nullable=False),
    _belongs_to_thread(),
)
