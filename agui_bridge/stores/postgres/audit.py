"""Rows of the audit chain in PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.audit import Sealer
from agui_bridge.stores.postgres.statements import Statement, Statements

__all__ = ["PostgresAudit"]

_KEY = "scope, agent, thread"


class PostgresAudit(Sealer):
    """Reads rows from a database; see `AuditStore`."""

    def __init__(self, run: Callable[..., Awaitable[list[Any]]], statements: Statements) -> None:
        """Read from a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
        """
        table, now = statements.table("agui_audit"), statements.began
        self._run = run
        self._threads = Statement.of(f"""
SELECT DISTINCT {_KEY} FROM {table}
WHERE (:scope::text IS NULL OR scope = :scope)
    AND (:after::text IS NULL OR ({_KEY}) > (:after, :after_agent::text, :after_thread::text))
ORDER BY {_KEY} LIMIT :limit""")
        self._rows = Statement.of(f"""
SELECT id, written_at, data FROM {table}
WHERE scope = :scope AND agent = :agent AND thread = :thread ORDER BY id COLLATE "C\"""")
        self._prune = Statement.of(f"""
WITH old AS (
    SELECT {_KEY} FROM {table} a
    WHERE NOT EXISTS (SELECT FROM {statements.table("agui_threads")} t
        WHERE t.scope = a.scope AND t.agent = a.agent AND t.thread = a.thread)
    GROUP BY {_KEY} HAVING max(written_at) <= {now} - :older_than::float8 LIMIT :limit
), deleted AS (DELETE FROM {table} a USING old
    WHERE a.scope = old.scope AND a.agent = old.agent AND a.thread = old.thread)
SELECT count(*) FROM old""")

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows (see `AuditStore.threads`)."""
        values = {
            "scope": scope,
            "after": after and after.scope,
            "after_agent": after and after.agent,
            "after_thread": after and after.thread,
            "limit": limit,
        }
        return [ThreadKey(*row) for row in await self._run(self._threads, None, values)]

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""
        return [AuditRow(*row) for row in await self._run(self._rows, key)]

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""
        values = {"older_than": older_than, "limit": limit}
        count: int = (await self._run(self._prune, None, values))[0][0]
        return count
