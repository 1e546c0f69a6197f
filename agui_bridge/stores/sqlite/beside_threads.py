"""What is kept beside threads, in SQLite: grants and the audit chain, deliveries, servers."""

from __future__ import annotations

import builtins
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import InterruptStatus, Json, ThreadKey, ThreadStatus
from agui_bridge.stores.codec import decode_grant, encode
from agui_bridge.stores.decisions import Sealer
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.servers import (
    BEGINNING,
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
    Written,
)
from agui_bridge.stores.sql.rows import (
    COLUMNS,
    KEY,
    OF_IT,
    OF_ITS_END,
    after_row,
    close_row,
    encode_noted,
    grant_row,
    key_row,
    read_asked,
    read_delivery,
    read_server,
    read_written,
    server_row,
)
from agui_bridge.stores.sqlite.database import SqliteDatabase

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
        parameters = {"scope": scope, "limit": limit, **after_row(after)}

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
_PRUNE_GRANTS: Final = f"DELETE FROM agui_grants WHERE rowid IN ({_OVER})"


class SqliteGrants:
    """Keeps decisions in a database; see `GrantStore`."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Keep them in a database, which stays its store's."""
        self._database = database

    async def add(self, grant: Grant) -> None:
        """Store a decision (see `GrantStore.add`)."""
        row = grant_row(grant)
        await self._database.write(lambda connection: connection.execute(_ADD, row).rowcount)

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
                return connection.execute(_PRUNE_GRANTS, values).rowcount
            count: int = connection.execute(_COUNT, values).fetchone()[0]
            return count

        return await (self._database.read(body) if dry_run else self._database.write(body))

    async def _changes(self, statement: str, scope: str, id: str, actor: str) -> bool:
        def body(connection: sqlite3.Connection) -> bool:
            values = {"scope": scope, "id": id, "actor": actor, "now": self._database.now()}
            return connection.execute(statement, values).rowcount == 1

        return await self._database.write(body)


# --- deliveries in a SQLite file: each method is one transaction ---

NAMES: Final = ", ".join(COLUMNS)
OWN: Final = " AND ".join(f"{name} = :{name}" for name in KEY)
OPEN: Final = InterruptStatus.OPEN.value

UNANNOUNCED: Final = f"""
SELECT {", ".join(KEY)}, id FROM agui_interrupts
WHERE told = 0 AND status = '{OPEN}' AND (expires_at IS NULL OR expires_at > :now)
ORDER BY raised_at, agent, thread, position, id LIMIT :limit"""

OVER: Final = f"""
SELECT {", ".join(KEY)}, id FROM agui_interrupts
WHERE told = 1 AND status <> '{OPEN}'
UNION ALL
SELECT {", ".join(KEY)}, id FROM agui_interrupts
WHERE told = 1 AND status = '{OPEN}' AND expires_at <= :now LIMIT :limit"""

MARK: Final = f"""
UPDATE agui_interrupts SET told = max(told, :told) WHERE {OWN} AND id = :interrupt"""

PUT: Final = f"""
INSERT INTO agui_deliveries ({", ".join(KEY)}, id, interrupt, channel, event, due_at, state,
    attempts, created_at, updated_at)
VALUES ({", ".join(f":{name}" for name in KEY)}, :id, :interrupt, :channel, :event, :due_at,
    'queued', 0, :now, :now)
ON CONFLICT DO NOTHING"""

CLAIM: Final = f"""
UPDATE agui_deliveries
SET lease = :lease, due_at = :now + :seconds, attempts = attempts + 1, updated_at = :now
WHERE rowid IN (
    SELECT rowid FROM agui_deliveries
    WHERE channel = :channel AND state = 'queued' AND due_at <= :now
    ORDER BY due_at LIMIT :limit
)
RETURNING {NAMES}"""

FINISH: Final = f"""
UPDATE agui_deliveries
SET state = :state, attempts = :attempts, lease = NULL, due_at = coalesce(:now + :retry_in, due_at),
    noted = coalesce(:noted, noted), error = :error, updated_at = :now
WHERE {OWN} AND id = :id AND lease = :lease"""

OF_QUESTION: Final = f"""
SELECT {NAMES} FROM agui_deliveries
WHERE {OWN} AND interrupt = :interrupt ORDER BY created_at, id"""

LIST: Final = f"""
SELECT {NAMES} FROM agui_deliveries WHERE scope = :scope{{}}
ORDER BY created_at DESC, agent, thread, id LIMIT :limit"""

_NAMES_OF_IT: Final = ", ".join(f"d.{name}" for name in COLUMNS)
_NOT_CLOSED: Final = """d.closed_by IS NULL AND d.channel <> ''
    AND (:channel IS NULL OR d.channel = :channel)
    AND d.channel NOT IN (SELECT value FROM json_each(:but))"""

LEFT: Final = f"""
SELECT {_NAMES_OF_IT} FROM agui_deliveries d
WHERE d.scope = :scope AND d.state IN ('queued', 'dead') AND {_NOT_CLOSED}
UNION ALL
SELECT {_NAMES_OF_IT} FROM agui_interrupts i JOIN agui_deliveries d
    ON {" AND ".join(f"d.{name} = i.{name}" for name in KEY)} AND d.interrupt = i.id
WHERE i.scope = :scope AND i.status = '{OPEN}' AND d.state = 'sent' AND {_NOT_CLOSED}
ORDER BY created_at, agent, thread, id LIMIT :limit"""

CLOSE: Final = f"""
UPDATE agui_deliveries SET state = CASE state WHEN 'sent' THEN 'sent' ELSE 'dropped' END,
    lease = NULL, updated_at = :now, closed_by = :actor
WHERE {OWN} AND id = :id AND state = :state AND attempts = :attempts AND lease IS :lease
    AND closed_by IS NULL AND (lease IS NULL OR due_at <= :now)"""

_SCOPES_OF_DELIVERIES: Final = "SELECT DISTINCT scope FROM agui_deliveries ORDER BY scope"


class SqliteDeliveries:
    """Keeps deliveries in a store's file."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Use a store's database, which closes with the store.

        Args:
            database: the store's.
        """
        self._database = database

    async def unannounced(self, limit: int = 100) -> list[Asked]:
        """Questions that nobody has planned for (see `DeliveryStore.unannounced`)."""
        return await self._asked(UNANNOUNCED, limit)

    async def over(self, limit: int = 100) -> list[Asked]:
        """Questions whose end nobody has planned (see `DeliveryStore.over`)."""
        return await self._asked(OVER, limit)

    async def plan(
        self, asked: Asked, deliveries: Sequence[Delivery] = (), *, over: bool = False
    ) -> int:
        """Note that a question is planned for (see `DeliveryStore.plan`)."""
        question = key_row(asked[0]) | {"interrupt": asked[1]}

        def body(connection: sqlite3.Connection) -> int:
            told = OF_ITS_END if over else OF_IT
            if not connection.execute(MARK, question | {"told": told}).rowcount:
                return 0
            now = self._database.now()
            return sum(
                connection.execute(
                    PUT,
                    question
                    | {"id": one.id, "channel": one.channel, "event": one.event}
                    | {"due_at": one.due_at, "now": now},
                ).rowcount
                for one in deliveries
            )

        return await self._database.write(body)

    async def claim(
        self, channel: str, lease: str, *, lease_seconds: float, limit: int = 10
    ) -> list[Delivery]:
        """Take deliveries that are due (see `DeliveryStore.claim`)."""
        values = {"channel": channel, "lease": lease, "seconds": lease_seconds, "limit": limit}
        due = "SELECT 1 FROM agui_deliveries WHERE channel = :channel AND state = 'queued'"

        def look(connection: sqlite3.Connection) -> bool:
            now = {"now": self._database.now(), "channel": channel}
            found = connection.execute(f"{due} AND due_at <= :now LIMIT 1", now)
            return found.fetchone() is not None

        def body(connection: sqlite3.Connection) -> list[Delivery]:
            rows = connection.execute(CLAIM, values | {"now": self._database.now()}).fetchall()
            return sorted(map(read_delivery, rows), key=lambda one: (one.created_at, one.id))

        # Mostly nothing is due, and a write waits for the disk.
        return await self._database.write(body) if await self._database.read(look) else []

    async def finish(
        self,
        delivery: Delivery,
        state: DeliveryState,
        *,
        retry_in: float | None = None,
        noted: Mapping[str, Json] | None = None,
        error: str | None = None,
    ) -> bool:
        """Say what became of a claimed delivery (see `DeliveryStore.finish`)."""
        values = key_row(delivery.key) | {"id": delivery.id, "lease": delivery.lease}
        values |= {"state": state, "retry_in": retry_in, "error": error}
        values |= {"attempts": delivery.attempts, "noted": encode_noted(noted)}

        def body(connection: sqlite3.Connection) -> bool:
            done = connection.execute(FINISH, values | {"now": self._database.now()})
            return done.rowcount == 1

        return await self._database.write(body)

    async def of_question(self, asked: Asked) -> list[Delivery]:
        """The deliveries of a question (see `DeliveryStore.of_question`)."""
        values = key_row(asked[0]) | {"interrupt": asked[1]}

        def body(connection: sqlite3.Connection) -> list[Delivery]:
            return [read_delivery(row) for row in connection.execute(OF_QUESTION, values)]

        return await self._database.read(body)

    async def list_deliveries(
        self, scope: str, *, state: DeliveryState | None = None, limit: int = 200
    ) -> list[Delivery]:
        """List a scope's deliveries (see `DeliveryStore.list_deliveries`)."""
        values = {"scope": scope, "state": state, "limit": limit}
        statement = LIST.format("" if state is None else " AND state = :state")

        def body(connection: sqlite3.Connection) -> list[Delivery]:
            return [read_delivery(row) for row in connection.execute(statement, values)]

        return await self._database.read(body)

    async def left(
        self,
        scope: str,
        *,
        channel: str | None = None,
        but: Collection[str] = (),
        limit: int = 200,
    ) -> list[Delivery]:
        """Of which something is still to become (see `DeliveryStore.left`)."""
        values = {"scope": scope, "channel": channel, "limit": limit, "but": encode(list(but))}

        def body(connection: sqlite3.Connection) -> list[Delivery]:
            return [read_delivery(row) for row in connection.execute(LEFT, values)]

        return await self._database.read(body)

    async def close(self, delivery: Delivery, actor: str) -> bool:
        """Close one that is left (see `DeliveryStore.close`)."""
        values = key_row(delivery.key) | close_row(delivery, actor)

        def body(connection: sqlite3.Connection) -> bool:
            done = connection.execute(CLOSE, values | {"now": self._database.now()})
            return done.rowcount == 1

        return await self._database.write(body)

    async def scopes(self) -> list[str]:
        """The scopes that have deliveries (see `DeliveryStore.scopes`)."""

        def body(connection: sqlite3.Connection) -> list[str]:
            return [str(scope) for (scope,) in connection.execute(_SCOPES_OF_DELIVERIES)]

        return await self._database.read(body)

    async def _asked(self, statement: str, limit: int) -> list[Asked]:
        def body(connection: sqlite3.Connection) -> list[Asked]:
            values = {"now": self._database.now(), "limit": limit}
            return [read_asked(row) for row in connection.execute(statement, values)]

        return await self._database.read(body)


# --- the servers that share a SQLite file ---

NOTE: Final = """
INSERT INTO agui_servers (id, version, format, channels, since, seen_at)
VALUES (:id, :version, :format, :channels, :now, :now)
ON CONFLICT (id) DO UPDATE SET version = excluded.version, format = excluded.format,
    channels = excluded.channels, seen_at = excluded.seen_at"""
SWEEP: Final = f"DELETE FROM agui_servers WHERE seen_at <= :now - {KEPT_SECONDS}"
LOOK: Final = "SELECT id, version, format, channels, since, seen_at FROM agui_servers"
FORGET: Final = "DELETE FROM agui_servers WHERE id = :id"
RESTING: Final = f"""
SELECT substr(data, 1, {BEGINNING}), updated_at FROM agui_threads
WHERE status = '{ThreadStatus.IDLE.value}' ORDER BY updated_at DESC LIMIT {NEWEST}"""
WAITING: Final = f"""
SELECT substr(t.data, 1, {BEGINNING}), t.updated_at
FROM (
    SELECT {", ".join(KEY)} FROM agui_interrupts
    WHERE told = 0 AND status = '{InterruptStatus.OPEN.value}'
    ORDER BY raised_at DESC LIMIT {NEWEST}
) i JOIN agui_threads t USING ({", ".join(KEY)})"""


class SqliteServers:
    """Keeps servers in a store's file; see `ServerStore`."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Use a store's database, which closes with the store.

        Args:
            database: the store's.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        self._database = database

    async def note(self, server: Server) -> Servers:
        """Note a server (see `ServerStore.note`)."""

        def body(connection: sqlite3.Connection) -> tuple[float, list[Server]]:
            now = self._database.now()
            connection.execute(NOTE, server_row(server) | {"now": now})
            connection.execute(SWEEP, {"now": now})
            return now, [read_server(row) for row in connection.execute(LOOK)]

        return self.loaded.found(*await self._database.write(body))

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""

        def body(connection: sqlite3.Connection) -> tuple[float, list[Server], list[Written]]:
            noted = [read_server(row) for row in connection.execute(LOOK)]
            rows = [row for which in (RESTING, WAITING) for row in connection.execute(which)]
            return self._database.now(), noted, list(map(read_written, rows))

        return self.loaded.found(*await self._database.read(body))

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""

        def body(connection: sqlite3.Connection) -> None:
            connection.execute(FORGET, {"id": id})

        await self._database.write(body)
