"""What is kept beside threads, in PostgreSQL: grants and the audit chain, deliveries, servers."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence

from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import InterruptStatus, Json, ThreadKey, ThreadStatus
from agui_bridge.stores.codec import decode_grant
from agui_bridge.stores.decisions import Sealer
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.postgres.statements import KEY, SAME, Run, Statement, Statements
from agui_bridge.stores.servers import (
    BEGINNING,
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
)
from agui_bridge.stores.sql.rows import (
    COLUMNS,
    OF_IT,
    OF_ITS_END,
    after_row,
    close_row,
    encode_noted,
    grant_row,
    read_asked,
    read_delivery,
    read_server,
    read_written,
    server_row,
)

_KEY = "scope, agent, thread"


class PostgresAudit(Sealer):
    """Reads rows from a database; see `AuditStore`."""

    def __init__(self, run: Run, statements: Statements) -> None:
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
        values = {"scope": scope, "limit": limit, **after_row(after)}
        return [ThreadKey(*row) for row in await self._run(self._threads, None, values)]

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""
        return [AuditRow(*row) for row in await self._run(self._rows, key)]

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""
        values = {"older_than": older_than, "limit": limit}
        count: int = (await self._run(self._prune, None, values))[0][0]
        return count


_COLUMNS = "data, uses, revoked_at, revoked_by"


class PostgresGrants:
    """Keeps decisions in a database; see `GrantStore`."""

    def __init__(self, run: Run, statements: Statements) -> None:
        """Keep them in a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
        """
        table, now = statements.table("agui_grants"), statements.now
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
        await self._run(self._add, None, grant_row(grant))

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


# --- deliveries in PostgreSQL: each method is one statement ---

NAMES = ", ".join(COLUMNS)
OPEN = InterruptStatus.OPEN.value


class DeliveryStatements:
    """Every statement, for tables in one schema."""

    def __init__(self, statements: Statements) -> None:
        """Write them.

        Args:
            statements: those of a store, which know where the tables lie.
        """
        now, began = statements.now, statements.began
        threads, interrupts = statements.table("agui_threads"), statements.table("agui_interrupts")
        deliveries = statements.table("agui_deliveries")
        self.unannounced = Statement.of(f"""
SELECT i.scope, i.agent, i.thread, i.id FROM {interrupts} i
WHERE i.told = 0 AND i.status = '{OPEN}' AND (i.expires_at IS NULL OR i.expires_at > {began})
ORDER BY i.raised_at, i.agent COLLATE "C", i.thread COLLATE "C", i.position, i.id COLLATE "C"
LIMIT :limit""")
        self.over = Statement.of(f"""
(SELECT scope, agent, thread, id FROM {interrupts}
    WHERE told = 1 AND status <> '{OPEN}' ORDER BY raised_at LIMIT :limit)
UNION ALL
(SELECT scope, agent, thread, id FROM {interrupts}
    WHERE told = 1 AND status = '{OPEN}' AND expires_at <= {began}
    ORDER BY expires_at LIMIT :limit)
LIMIT :limit""")
        # The lock keeps the thread from being deleted before its rows are there.
        self.plan = Statement.of(f"""
WITH thread AS (
    SELECT t.scope, t.agent, t.thread FROM {threads} t WHERE {KEY.format("t")}
    AND EXISTS (SELECT FROM {interrupts} i WHERE {KEY.format("i")} AND i.id = :interrupt)
    FOR KEY SHARE
), mark AS (
    UPDATE {interrupts} i SET told = greatest(i.told, :told::bigint) FROM thread
    WHERE {SAME.format("i", "thread")} AND i.id = :interrupt
), put AS (
    INSERT INTO {deliveries} (scope, agent, thread, id, interrupt, channel, event, due_at, state,
        attempts, created_at, updated_at)
    SELECT scope, agent, thread, new.id, :interrupt, new.channel, new.event, new.due_at, 'queued',
        0, {began}, {began}
    FROM thread, unnest(:ids::text[], :channels::text[], :events::text[], :due_at::float8[])
        AS new (id, channel, event, due_at)
    ON CONFLICT DO NOTHING RETURNING 1
)
SELECT count(*) FROM put""")
        self.claim = Statement.of(f"""
UPDATE {deliveries} d SET lease = :lease, due_at = {now} + :seconds::float8,
    attempts = attempts + 1, updated_at = {now}
WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {deliveries}
    WHERE channel = :channel AND state = 'queued' AND due_at <= {began}
    ORDER BY due_at LIMIT :limit FOR UPDATE SKIP LOCKED
))
RETURNING {NAMES}""")
        self.finish = Statement.of(f"""
UPDATE {deliveries} d SET state = :state, attempts = :attempts, lease = NULL,
    due_at = coalesce({now} + :retry_in::float8, due_at), noted = coalesce(:noted::text, noted),
    error = :error, updated_at = {now}
WHERE {KEY.format("d")} AND id = :id AND lease = :lease RETURNING 1""")
        self.of_question = Statement.of(f"""
SELECT {NAMES} FROM {deliveries} d WHERE {KEY.format("d")} AND interrupt = :interrupt
ORDER BY created_at, id COLLATE "C\"""")
        self.list = Statement.of(f"""
SELECT {NAMES} FROM {deliveries}
WHERE scope = :scope AND (:state::text IS NULL OR state = :state)
ORDER BY created_at DESC, agent COLLATE "C", thread COLLATE "C", id COLLATE "C" LIMIT :limit""")
        names = ", ".join(f"d.{name}" for name in COLUMNS)
        those = """AND d.closed_by IS NULL AND d.channel <> ''
    AND (:channel::text IS NULL OR d.channel = :channel) AND d.channel <> ALL (:but::text[])"""
        self.left = Statement.of(f"""
SELECT * FROM (
    SELECT {names} FROM {deliveries} d
    WHERE d.scope = :scope AND d.state IN ('queued', 'dead') {those}
    UNION ALL
    SELECT {names} FROM {interrupts} i JOIN {deliveries} d
        ON {SAME.format("d", "i")} AND d.interrupt = i.id
    WHERE i.scope = :scope AND i.status = '{OPEN}' AND d.state = 'sent' {those}
) found
ORDER BY created_at, agent COLLATE "C", thread COLLATE "C", id COLLATE "C" LIMIT :limit""")
        self.close = Statement.of(f"""
UPDATE {deliveries} d SET state = CASE d.state WHEN 'sent' THEN 'sent' ELSE 'dropped' END,
    lease = NULL, updated_at = {now}, closed_by = :actor
WHERE {KEY.format("d")} AND id = :id AND state = :state AND attempts = :attempts
    AND lease IS NOT DISTINCT FROM :lease::text AND closed_by IS NULL
    AND (lease IS NULL OR due_at <= {now}) RETURNING 1""")
        self.scopes = Statement.of(f"""
SELECT DISTINCT scope COLLATE "C" FROM {deliveries} ORDER BY 1""")


class PostgresDeliveries:
    """Keeps deliveries in a store's database."""

    def __init__(self, run: Run, statements: Statements) -> None:
        """Keep them in a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
        """
        self._run = run
        self._statements = DeliveryStatements(statements)

    async def unannounced(self, limit: int = 100) -> list[Asked]:
        """Questions that nobody has planned for (see `DeliveryStore.unannounced`)."""
        rows = await self._run(self._statements.unannounced, None, {"limit": limit})
        return [read_asked(tuple(row)) for row in rows]

    async def over(self, limit: int = 100) -> list[Asked]:
        """Questions whose end nobody has planned (see `DeliveryStore.over`)."""
        rows = await self._run(self._statements.over, None, {"limit": limit})
        return [read_asked(tuple(row)) for row in rows]

    async def plan(
        self, asked: Asked, deliveries: Sequence[Delivery] = (), *, over: bool = False
    ) -> int:
        """Note that a question is planned for (see `DeliveryStore.plan`)."""
        values = {
            "interrupt": asked[1],
            "told": OF_ITS_END if over else OF_IT,
            "ids": [one.id for one in deliveries],
            "channels": [one.channel for one in deliveries],
            "events": [one.event for one in deliveries],
            "due_at": [one.due_at for one in deliveries],
        }
        ((new,),) = await self._run(self._statements.plan, asked[0], values)
        return int(new)

    async def claim(
        self, channel: str, lease: str, *, lease_seconds: float, limit: int = 10
    ) -> list[Delivery]:
        """Take deliveries that are due (see `DeliveryStore.claim`)."""
        values = {"channel": channel, "lease": lease, "seconds": lease_seconds, "limit": limit}
        rows = await self._run(self._statements.claim, None, values)
        claimed = [read_delivery(tuple(row)) for row in rows]
        return sorted(claimed, key=lambda one: (one.created_at, one.id))

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
        values = {
            "id": delivery.id,
            "lease": delivery.lease,
            "attempts": delivery.attempts,
            "state": state,
            "error": error,
            "retry_in": retry_in,
            "noted": encode_noted(noted),
        }
        return bool(await self._run(self._statements.finish, delivery.key, values))

    async def of_question(self, asked: Asked) -> list[Delivery]:
        """The deliveries of a question (see `DeliveryStore.of_question`)."""
        values = {"interrupt": asked[1]}
        rows = await self._run(self._statements.of_question, asked[0], values)
        return [read_delivery(tuple(row)) for row in rows]

    async def list_deliveries(
        self, scope: str, *, state: DeliveryState | None = None, limit: int = 200
    ) -> list[Delivery]:
        """List a scope's deliveries (see `DeliveryStore.list_deliveries`)."""
        values = {"scope": scope, "state": state, "limit": limit}
        rows = await self._run(self._statements.list, None, values)
        return [read_delivery(tuple(row)) for row in rows]

    async def left(
        self,
        scope: str,
        *,
        channel: str | None = None,
        but: Collection[str] = (),
        limit: int = 200,
    ) -> list[Delivery]:
        """Of which something is still to become (see `DeliveryStore.left`)."""
        values = {"scope": scope, "channel": channel, "but": list(but), "limit": limit}
        rows = await self._run(self._statements.left, None, values)
        return [read_delivery(tuple(row)) for row in rows]

    async def close(self, delivery: Delivery, actor: str) -> bool:
        """Close one that is left (see `DeliveryStore.close`)."""
        values = close_row(delivery, actor)
        return bool(await self._run(self._statements.close, delivery.key, values))

    async def scopes(self) -> list[str]:
        """The scopes that have deliveries (see `DeliveryStore.scopes`)."""
        return [str(scope) for (scope,) in await self._run(self._statements.scopes, None, {})]


# --- the servers that share a PostgreSQL database ---


def newest_records(statements: Statements) -> Statement:
    """What gives the beginnings of the newest records, and their times.

    Args:
        statements: those of a store, which know where the tables lie.
    """
    threads = statements.table("agui_threads")
    return Statement.of(f"""
(SELECT left(data, {BEGINNING}), updated_at FROM {threads}
    WHERE status = '{ThreadStatus.IDLE.value}' ORDER BY updated_at DESC LIMIT {NEWEST})
UNION ALL
(SELECT left(t.data, {BEGINNING}), t.updated_at FROM (
    SELECT scope, agent, thread FROM {statements.table("agui_interrupts")}
    WHERE told = 0 AND status = '{InterruptStatus.OPEN.value}'
    ORDER BY raised_at DESC LIMIT {NEWEST}
) i JOIN {threads} t ON {SAME.format("t", "i")})""")


class PostgresServers:
    """Keeps servers in a database; see `ServerStore`."""

    def __init__(self, run: Run, statements: Statements) -> None:
        """Keep them in a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        table, now = statements.table("agui_servers"), statements.now
        self._run = run
        # One transaction of every server at every beat: the others' rows come along.
        self._note = Statement.of(f"""
WITH swept AS (DELETE FROM {table} WHERE seen_at <= {now} - {KEPT_SECONDS} AND id <> :id),
noted AS (
    INSERT INTO {table} (id, version, format, channels, since, seen_at)
    VALUES (:id, :version, :format, :channels, {now}, {now})
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, format = excluded.format,
        channels = excluded.channels, seen_at = excluded.seen_at
    RETURNING id, version, format, channels, since, seen_at
)
SELECT {now}, * FROM noted
UNION ALL
SELECT {now}, id, version, format, channels, since, seen_at FROM {table}
    WHERE id <> :id AND seen_at > {now} - {KEPT_SECONDS}""")
        self._look = Statement.of(f"""
SELECT {now}, s.id, s.version, s.format, s.channels, s.since, s.seen_at
FROM (SELECT) one LEFT JOIN {table} s ON true""")
        self._newest = newest_records(statements)
        self._forget = Statement.of(f"DELETE FROM {table} WHERE id = :id")

    async def note(self, server: Server) -> Servers:
        """Note a server (see `ServerStore.note`)."""
        rows = await self._run(self._note, None, server_row(server))
        return self.loaded.found(rows[0][0], [read_server(tuple(row)[1:]) for row in rows])

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        rows = await self._run(self._look, None, {})
        newest = await self._run(self._newest, None, {})
        noted = [read_server(tuple(row)[1:]) for row in rows if row[1] is not None]
        return self.loaded.found(rows[0][0], noted, [read_written(tuple(row)) for row in newest])

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        await self._run(self._forget, None, {"id": id})
