"""SQLite for `SqliteStore`: one file, any number of processes on one machine.

The driver runs in threads of the store's own, a whole transaction per hop. An async driver
(aiosqlite) would hop to its thread and back for every call of the DBAPI, which takes three times
as long, and a cancellation could meet a transaction half done; here it only stops the waiting,
never the transaction.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.sqlite.file import BUSY_SECONDS, DatabaseFile
from agui_bridge.stores.sqlite.writer import Writer

__all__ = ["SqliteDatabase"]

T = TypeVar("T")
_Mark = tuple[int, int]

READERS = 4


class SqliteDatabase:
    """A SQLite file: one thread and connection that writes, a few that read.

    A cancelled `read` or `write` either takes place whole or not at all, and leaves the
    database usable.
    """

    def __init__(self, file: DatabaseFile, clock: Callable[[], float] = time.time) -> None:
        """Connect to nothing yet.

        Args:
            file: is closed with the database.
            clock: the store's time. All processes are on one machine, so its clock is theirs.
        """
        self.now = clock
        self._file = file
        self._log = f"{file.path}-wal"
        self._readers = _Readers(file)
        self._writer = Writer(file, lambda: BUSY_SECONDS, self._wrote)
        self._own: _Mark | None = None
        self._others: _Mark | None = None

    async def read(self, body: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in one consistent snapshot.

        Raises:
            StoreUnavailable: the database did not answer.
        """
        return await self._readers.run(body)

    async def write(self, body: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in a transaction that commits when it returns, as if it ran alone.

        Raises:
            StoreUnavailable: the database did not answer; whether it committed is unknown.
        """
        return await self._writer.run(body)

    async def last_written_elsewhere(self) -> _Mark | None:
        """Something that differs once another process has written; it costs a microsecond.

        It may differ after a write of this process too, and miss one that came right after that.
        """
        mark = self._mark()
        if mark != self._own:
            self._others = mark
        return self._others

    def _wrote(self) -> None:
        self._own = self._mark()

    def _mark(self) -> _Mark | None:
        """The write-ahead log's time and size: every write goes there, and changes them."""
        try:
            found = os.stat(self._log)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    async def aclose(self) -> None:
        """Wait for what is under way, then close the connections."""
        await self._readers.aclose()
        await self._writer.aclose()
        self._file.close()


class _Readers:
    """Threads that read, each with a connection of its own: no reader waits for the writer."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="agui-bridge-sqlite")
        self._own = threading.local()
        self._connections: set[sqlite3.Connection] = set()
        self._closed = False

    async def run(self, body: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        deadline = time.monotonic() + BUSY_SECONDS
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, body, deadline)

    def _read(self, body: Callable[[sqlite3.Connection], T], deadline: float) -> T:
        if time.monotonic() > deadline:
            raise StoreUnavailable("the database is busy: no turn came in time")
        try:
            connection = self._connection()
            self._file.check()
            try:
                connection.execute("BEGIN")
                return body(connection)
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            self._forget()
            raise self._file.plainly(error) from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._file.connect()
            self._connections.add(connection)
        return connection

    def _forget(self) -> None:
        """Drop this thread's connection: after an error the next transaction gets a fresh one."""
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            self._connections.discard(connection)
            connection.close()

    async def aclose(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        while self._connections:
            self._connections.pop().close()
