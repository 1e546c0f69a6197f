"""Remembered decisions in PostgreSQL."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.grant_codec import decode_grant, encode_grant
from agui_bridge.stores.postgres.statements import GIVEN, NOW, Statement, Statements

__all__ = ["PostgresGrants"]

_COLUMNS = "data, uses, revoked_at, revoked_by"


class PostgresGrants:
    """Keeps decisions in a database; see `GrantStore`."""

    def __init__(
        self, run: Callable[..., Awaitable[Any]], statements: Statements, *, timed: bool
    ) -> None:
        """Keep them in a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
            timed: whether the time is a parameter.
        """
        table, now = statements.table("agui_grants"), GIVEN if timed else NOW
        stands = f"""revoked_at IS NULL AND expires_at > {now}
    AND (max_uses IS NULL OR uses < max_uses)"""
        self._run = run
        self._add = Statement.of(f"""
INSERT INTO {table} (scope, id, agent, tool, data, created_at, expires_at, max_uses, uses)
VALUES (:scope, :id, :agent, :tool, :data, :created_at, :expires_at, :max_uses, 0)
ON CONFLICT DO NOTHING""")
        self._find = Statement.of(f"""
SELECT {_COLUMNS} FROM {table}
WHERE scope = :scope AND agent = :agent AND tool = ANY (:tools::text[]) AND {stands}""")
        self._use = Statement.of(f"""
UPDATE {table} SET uses = uses + 1 WHERE scope = :scope AND id = :id AND {stands}
RETURNING 1""")
        self._revoke = Statement.of(f"""
UPDATE {table} SET revoked_at = {now}, revoked_by = :actor
WHERE scope = :scope AND id = :id AND revoked_at IS NULL RETURNING 1""")
        self._list = Statement.of(f"""
SELECT {_COLUMNS} FROM {table} WHERE scope = :scope
ORDER BY created_at DESC, id COLLATE "C" LIMIT :limit""")
        self._scopes = Statement.of(f"""
SELECT DISTINCT scope COLLATE "C" FROM {table} ORDER BY 1""")
        latest = f"{now} - :older_than::float8"
        over = f"""
SELECT scope, id FROM {table}
WHERE expires_at <= {latest} OR revoked_at <= {latest}
    OR (uses >= max_uses AND created_at <= {latest})
LIMIT :limit"""
        self._count = Statement.of(f"SELECT count(*) FROM ({over}) old")
        self._prune = Statement.of(f"""
WITH old AS ({over}), deleted AS (
    DELETE FROM {table} g USING old WHERE g.scope = old.scope AND g.id = old.id RETURNING 1
)
SELECT count(*) FROM deleted""")

    async def add(self, grant: Grant) -> None:
        """Store a decision (see `GrantStore.add`)."""
        values = {
            "scope": grant.scope,
            "id": grant.id,
            "agent": grant.agent,
            "tool": grant.tool,
            "data": encode_grant(grant),
            "created_at": grant.created_at,
            "expires_at": grant.expires_at,
            "max_uses": grant.max_uses,
        }
        await self._run(self._add, None, values)

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> builtins.list[Grant]:
        """Decisions that stand (see `GrantStore.find`)."""
        values = {"scope": scope, "agent": agent, "tools": list(tools)}
        return [decode_grant(*row) for row in await self._run(self._find, None, values)]

    async def use(self, scope: str, id: str) -> bool:
        """Count one use (see `GrantStore.use`)."""
        # Repeated, it might be counted twice; its caller asks people then.
        values = {"scope": scope, "id": id}
        return bool(await self._run(self._use, None, values, repeatable=False))

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision (see `GrantStore.revoke`)."""
        values = {"scope": scope, "id": id, "actor": actor}
        return bool(await self._run(self._revoke, None, values))

    async def list(self, scope: str, limit: int = 200) -> builtins.list[Grant]:
        """A scope's decisions (see `GrantStore.list`)."""
        values = {"scope": scope, "limit": limit}
        return [decode_grant(*row) for row in await self._run(self._list, None, values)]

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have decisions (see `GrantStore.scopes`)."""
        return [str(scope) for (scope,) in await self._run(self._scopes, None, {})]

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for long (see `GrantStore.prune`)."""
        values = {"older_than": older_than, "limit": limit}
        statement = self._count if dry_run else self._prune
        count: int = (await self._run(statement, None, values))[0][0]
        return count
