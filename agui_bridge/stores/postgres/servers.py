"""The servers that share a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.postgres.statements import GIVEN, NOW, SAME, Statement, Statements
from agui_bridge.stores.servers import (
    BEGINNING,
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
)
from agui_bridge.stores.sql.servers import read_server, read_written, server_row

__all__ = ["PostgresServers", "newest_records"]


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

    def __init__(
        self, run: Callable[..., Awaitable[Any]], statements: Statements, *, timed: bool
    ) -> None:
        """Keep them in a database.

        Args:
            run: runs a statement about a thread or none, with values.
            statements: those of its store, which know where the tables lie.
            timed: whether the time is a parameter.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        table, now = statements.table("agui_servers"), GIVEN if timed else NOW
        self._run = run
        self._note = Statement.of(f"""
WITH swept AS (DELETE FROM {table} WHERE seen_at <= {now} - {KEPT_SECONDS} AND id <> :id)
INSERT INTO {table} (id, version, format, channels, since, seen_at)
VALUES (:id, :version, :format, :channels, {now}, {now})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, format = excluded.format,
    channels = excluded.channels, seen_at = excluded.seen_at""")
        self._look = Statement.of(f"""
SELECT {now}, s.id, s.version, s.format, s.channels, s.since, s.seen_at
FROM (SELECT) one LEFT JOIN {table} s ON true""")
        self._newest = newest_records(statements)
        self._forget = Statement.of(f"DELETE FROM {table} WHERE id = :id")

    async def note(self, server: Server) -> None:
        """Note a server (see `ServerStore.note`)."""
        await self._run(self._note, None, server_row(server))

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        rows = await self._run(self._look, None, {})
        newest = await self._run(self._newest, None, {})
        noted = tuple(read_server(tuple(row)[1:]) for row in rows if row[1] is not None)
        written = tuple(read_written(tuple(row)) for row in newest)
        return Servers(rows[0][0], noted, (*written, *self.loaded.written))

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        await self._run(self._forget, None, {"id": id})
