"""Rows of the audit chain in SQLite."""

from __future__ import annotations

import sqlite3
from typing import Final

from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.audit import Sealer
from agui_bridge.stores.sql.rows import key_row
from agui_bridge.stores.sqlite.database import SqliteDatabase

__all__ = ["SqliteAudit"]

_KEY: Final = "scope, agent, thread"

_THREADS: Final = f"""
SELECT DISTINCT {_KEY} FROM agui_audit
WHERE (:scope IS NULL OR scope = :scope)
    AND (:after IS NULL OR ({_KEY}) > (:after, :after_agent, :after_thread))
ORDER BY {_KEY} LIMIT :limit"""

_ROWS: Final = """
SELECT id, written_at, data FROM agui_audit
WHERE scope = :scope AND agent = :agent AND thread = :thread ORDER BY id"""

_PRUNABLE: Final = f"""
SELECT {_KEY} FROM agui_audit a
WHERE NOT EXISTS (SELECT 1 FROM agui_threads t
    WHERE t.scope = a.scope AND t.agent = a.agent AND t.thread = a.thread)
GROUP BY {_KEY} HAVING max(written_at) <= :latest LIMIT :limit"""

_PRUNE: Final = (
    "DELETE FROM agui_audit WHERE scope = :scope AND agent = :agent AND thread = :thread"
)


class SqliteAudit(Sealer):
    """Reads rows from a database; see `AuditStore`."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Read from a database, which stays its store's."""
        self._database = database

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows (see `AuditStore.threads`)."""
        parameters = {
            "scope": scope,
            "after": after and after.scope,
            "after_agent": after and after.agent,
            "after_thread": after and after.thread,
            "limit": limit,
        }

        def body(connection: sqlite3.Connection) -> list[ThreadKey]:
            return [ThreadKey(*row) for row in connection.execute(_THREADS, parameters)]

        return await self._database.read(body)

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""

        def body(connection: sqlite3.Connection) -> list[AuditRow]:
            return [AuditRow(*row) for row in connection.execute(_ROWS, key_row(key))]

        return await self._database.read(body)

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""

        def body(connection: sqlite3.Connection) -> int:
            parameters = {"latest": self._database.now() - older_than, "limit": limit}
            old = [ThreadKey(*row) for row in connection.execute(_PRUNABLE, parameters)]
            connection.executemany(_PRUNE, [key_row(key) for key in old])
            return len(old)

        return await self._database.write(body)
