"""Deliveries in a SQLite file: each method is one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from agui_bridge.protocol.threads.records import InterruptStatus, Json
from agui_bridge.stores.codec import encode
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.sql.deliveries import (
    COLUMNS,
    OF_IT,
    OF_ITS_END,
    close_row,
    encode_noted,
    read_asked,
    read_delivery,
)
from agui_bridge.stores.sql.rows import key_row
from agui_bridge.stores.sql.tables import KEY
from agui_bridge.stores.sqlite.database import SqliteDatabase

__all__ = ["SqliteDeliveries"]

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

_SCOPES: Final = "SELECT DISTINCT scope FROM agui_deliveries ORDER BY scope"


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
            return [str(scope) for (scope,) in connection.execute(_SCOPES)]

        return await self._database.read(body)

    async def _asked(self, statement: str, limit: int) -> list[Asked]:
        def body(connection: sqlite3.Connection) -> list[Asked]:
            values = {"now": self._database.now(), "limit": limit}
            return [read_asked(row) for row in connection.execute(statement, values)]

        return await self._database.read(body)
