"""Rows of the audit chain as lines of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Literal

from agui_bridge.protocol.audit.verifying import read_row
from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

__all__ = ["COLUMNS", "ExportFormat", "csv_line", "export_lines", "threads_of"]

ExportFormat = Literal["jsonl", "csv"]

COLUMNS: Final = (
    *("at", "scope", "agent", "thread", "interrupt", "entry", "status", "event"),
    *("actor", "via", "rule", "askedBy", "tool", "args", "message", "answer"),
    *("terms", "ruling", "votes", "vote", "late"),
    *("chain", "seq", "prev", "key", "mac"),
)
"""The columns of a CSV file; the members of a row have the same names."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets carry out."""


async def export_lines(
    store: Store, format: ExportFormat, *, scope: str | None = None, heads: bool = False
) -> AsyncIterator[str]:
    """The rows of a store, one a line, those of a thread together.

    Args:
        store: an open one.
        format: `jsonl` gives the rows as they are stored, which can be verified; `csv` is for
            spreadsheets, begins with the names of the columns, and marks what would be a formula
            with an apostrophe.
        scope: only its rows; None is all.
        heads: only the last row of each chain.
    """
    if format == "csv":
        yield _csv(COLUMNS)
    async for key in threads_of(store, scope):
        rows = await store.audit.rows(key)
        if heads:
            rows = list({row.id.rpartition(".")[0]: row for row in rows}.values())
        for row in rows:
            yield csv_line(row) if format == "csv" else f"{row.data}\n"


async def threads_of(store: Store, scope: str | None = None) -> AsyncIterator[ThreadKey]:
    """All threads that have rows, a page at a time.

    Args:
        store: an open one.
        scope: only those of one; None is all.
    """
    after: ThreadKey | None = None
    while page := await store.audit.threads(scope=scope, after=after):
        for key in page:
            yield key
        after = page[-1]


def csv_line(row: AuditRow) -> str:
    """A row as a line of CSV; one that is damaged has nothing but its time.

    Args:
        row: as it is stored.
    """
    members: Mapping[str, Any] = read_row(row.data) or {"at": row.written_at}
    return _csv(tuple(_cell(members.get(name)) for name in COLUMNS))


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _csv(cells: tuple[str, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
