"""Deliveries in PostgreSQL: each method is one statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from agui_bridge.protocol.threads.records import InterruptStatus, Json, ThreadKey
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.postgres.statements import BEGAN, GIVEN, KEY, NOW, SAME, Statement
from agui_bridge.stores.sql.deliveries import (
    COLUMNS,
    OF_IT,
    OF_ITS_END,
    close_row,
    encode_noted,
    read_asked,
    read_delivery,
)

__all__ = ["PostgresDeliveries"]

NAMES = ", ".join(COLUMNS)
OPEN = InterruptStatus.OPEN.value

Run = Callable[[Statement, ThreadKey | None, dict[str, Any]], Awaitable[list[Any]]]
"""Runs a statement about a thread, or about none."""


class DeliveryStatements:
    """Every statement, for tables in one schema."""

    def __init__(self, prefix: str, *, timed: bool) -> None:
        """Write them.

        Args:
            prefix: of each table's name: its schema and a dot, or nothing.
            timed: whether the time is a parameter, `now`.
        """
        now, began = (GIVEN, GIVEN) if timed else (NOW, BEGAN)
        threads, interrupts = f"{prefix}agui_threads", f"{prefix}agui_interrupts"
        deliveries = f"{prefix}agui_deliveries"
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

    def __init__(self, run: Run, schema: str | None, *, timed: bool) -> None:
        """Use a store's connections, which close with the store.

        Args:
            run: runs a statement.
            schema: where the tables lie; None leaves it to the search path.
            timed: whether `run` gives the time.
        """
        prefix = "" if schema is None else '"' + schema.replace('"', '""') + '".'
        self._run = run
        self._statements = DeliveryStatements(prefix, timed=timed)

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
