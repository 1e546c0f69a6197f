"""The columns that the statements of both SQL stores write and read; `migrations` makes them.

Conditions, parameters and what is asked for in one statement differ from database to database:
those are written where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from agui_bridge.frozen import dataclass

__all__ = [
    "AUDIT",
    "INTERRUPTS",
    "KEY",
    "LEASE",
    "MESSAGES",
    "RECEIPTS",
    "RECORD",
    "STOP",
    "WRITTEN",
    "RowTable",
]

KEY: Final = ("scope", "agent", "thread")
"""The columns of a `ThreadKey`; every table's primary key begins with them."""

STOP: Final = ("stop_token", "stop_force", "stop_until", "stop_actor")
"""The columns of a `StopRequest`."""

LEASE: Final = ("lease_ends_at", "lease_given_at", "lease_doubted_until")
"""The columns of a `LeaseTerm`."""

RECORD: Final = (
    *KEY,
    *("data", "status", "version", "write_id", "created_at", "updated_at"),
    *LEASE,
    *STOP,
)
"""What `rows.read_thread` reads, in its order."""

WRITTEN: Final = (
    *("version", "status", "batch", "lease", *LEASE, "write_id"),
    *("created_at", "updated_at", "data"),
)
"""What `rows.thread_row` gives: what a commit writes of a thread besides its key."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table whose rows belong to a thread and are written by their id.

    Attributes:
        name: of the table.
        id: the column that tells a thread's rows apart.
        kinds: the other columns that every commit writes, with PostgreSQL's names of their types.
        stamp: a column with the time of the first commit, which later ones leave.
    """

    name: str
    id: str
    kinds: Mapping[str, str] = field(hash=False)
    stamp: str | None = None


MESSAGES: Final = RowTable(
    "agui_messages", "id", {"position": "bigint", "superseded": "boolean", "data": "text"}
)
INTERRUPTS: Final = RowTable(
    "agui_interrupts",
    "id",
    {
        "batch": "text",
        "position": "bigint",
        "status": "text",
        "expires_at": "double precision",
        "tool": "text",
        "data": "text",
    },
    stamp="raised_at",
)
RECEIPTS: Final = RowTable("agui_receipts", "batch", {"data": "text"})
AUDIT: Final = RowTable("agui_audit", "id", {"written_at": "double precision", "data": "text"})
