"""The servers that share a SQLite file."""

from __future__ import annotations

import sqlite3
from typing import Final

from agui_bridge.protocol.threads.records import InterruptStatus, ThreadStatus
from agui_bridge.stores.servers import (
    BEGINNING,
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
)
from agui_bridge.stores.sql.servers import read_server, read_written, server_row
from agui_bridge.stores.sql.tables import KEY
from agui_bridge.stores.sqlite.database import SqliteDatabase

__all__ = ["SqliteServers"]

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

    async def note(self, server: Server) -> None:
        """Note a server (see `ServerStore.note`)."""

        def body(connection: sqlite3.Connection) -> None:
            now = {"now": self._database.now()}
            connection.execute(NOTE, server_row(server) | now)
            connection.execute(SWEEP, now)

        await self._database.write(body)

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""

        def body(connection: sqlite3.Connection) -> Servers:
            noted = tuple(read_server(row) for row in connection.execute(LOOK))
            rows = [row for which in (RESTING, WAITING) for row in connection.execute(which)]
            written = (*map(read_written, rows), *self.loaded.written)
            return Servers(self._database.now(), noted, written)

        return await self._database.read(body)

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""

        def body(connection: sqlite3.Connection) -> None:
            connection.execute(FORGET, {"id": id})

        await self._database.write(body)
