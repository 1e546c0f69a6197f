"""Remembered decisions in SQLite."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Collection
from typing import Final

from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.grant_codec import decode_grant, encode_grant
from agui_bridge.stores.sqlite.database import SqliteDatabase

__all__ = ["SqliteGrants"]

_COLUMNS: Final = "data, uses, revoked_at, revoked_by"
_STANDS: Final = (
    "revoked_at IS NULL AND expires_at > :now AND (max_uses IS NULL OR uses < max_uses)"
)
_ADD: Final = """
INSERT INTO agui_grants
    (scope, id, agent, tool, data, created_at, expires_at, max_uses, uses)
VALUES (:scope, :id, :agent, :tool, :data, :created_at, :expires_at, :max_uses, 0)
ON CONFLICT DO NOTHING"""
_FIND: Final = f"""
SELECT {_COLUMNS} FROM agui_grants
WHERE scope = :scope AND agent = :agent AND tool = :tool AND {_STANDS}"""
_USE: Final = (
    f"UPDATE agui_grants SET uses = uses + 1 WHERE scope = :scope AND id = :id AND {_STANDS}"
)
_REVOKE: Final = """
UPDATE agui_grants SET revoked_at = :now, revoked_by = :actor
WHERE scope = :scope AND id = :id AND revoked_at IS NULL"""
_LIST: Final = f"""
SELECT {_COLUMNS} FROM agui_grants WHERE scope = :scope
ORDER BY created_at DESC, id LIMIT :limit"""

_SCOPES: Final = "SELECT DISTINCT scope FROM agui_grants ORDER BY scope"

_OVER: Final = """
SELECT rowid FROM agui_grants
WHERE expires_at <= :latest OR revoked_at <= :latest OR (uses >= max_uses AND created_at <= :latest)
LIMIT :limit"""
_COUNT: Final = f"SELECT count(*) FROM ({_OVER})"
_PRUNE: Final = f"DELETE FROM agui_grants WHERE rowid IN ({_OVER})"


class SqliteGrants:
    """Keeps decisions in a database; see `GrantStore`."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Keep them in a database, which stays its store's."""
        self._database = database

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
        await self._database.write(lambda connection: connection.execute(_ADD, values).rowcount)

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> builtins.list[Grant]:
        """Decisions that stand (see `GrantStore.find`)."""

        def body(connection: sqlite3.Connection) -> builtins.list[Grant]:
            values = {"scope": scope, "agent": agent, "now": self._database.now()}
            return [
                decode_grant(*row)
                for tool in tools
                for row in connection.execute(_FIND, {**values, "tool": tool})
            ]

        return await self._database.read(body)

    async def use(self, scope: str, id: str) -> bool:
        """Count one use (see `GrantStore.use`)."""
        return await self._changes(_USE, scope, id, "")

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision (see `GrantStore.revoke`)."""
        return await self._changes(_REVOKE, scope, id, actor)

    async def list(self, scope: str, limit: int = 200) -> builtins.list[Grant]:
        """A scope's decisions (see `GrantStore.list`)."""

        def body(connection: sqlite3.Connection) -> builtins.list[Grant]:
            rows = connection.execute(_LIST, {"scope": scope, "limit": limit})
            return [decode_grant(*row) for row in rows]

        return await self._database.read(body)

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have decisions (see `GrantStore.scopes`)."""

        def body(connection: sqlite3.Connection) -> builtins.list[str]:
            return [str(scope) for (scope,) in connection.execute(_SCOPES)]

        return await self._database.read(body)

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for long (see `GrantStore.prune`)."""

        def body(connection: sqlite3.Connection) -> int:
            values = {"latest": self._database.now() - older_than, "limit": limit}
            if not dry_run:
                return connection.execute(_PRUNE, values).rowcount
            count: int = connection.execute(_COUNT, values).fetchone()[0]
            return count

        return await (self._database.read(body) if dry_run else self._database.write(body))

    async def _changes(self, statement: str, scope: str, id: str, actor: str) -> bool:
        def body(connection: sqlite3.Connection) -> bool:
            values = {"scope": scope, "id": id, "actor": actor, "now": self._database.now()}
            return connection.execute(statement, values).rowcount == 1

        return await self._database.write(body)
