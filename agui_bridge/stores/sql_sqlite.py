"""SQLite for `SqlStore`: one file, any number of processes on one machine.

SQLAlchemy's sync engine runs in threads of the store's own, a whole transaction per hop. An
async driver (aiosqlite) would hop to its thread and back for every call of the DBAPI, which
takes three times as long, and a cancellation could meet a transaction half done; here it only
stops the waiting, never the transaction.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, NullPool, Table, create_engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.sql_database import raise_plainly

__all__ = ["BUSY_SECONDS", "SqliteDatabase", "sqlite_engine"]

T = TypeVar("T")

BUSY_SECONDS = 5.0
"""How long a transaction waits for other processes (or for its turn) before it gives up."""

READERS = 4

CONNECTION_PRAGMAS = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}",
)


def sqlite_engine(path: str) -> Engine:
    """An engine whose connections begin no transaction of their own accord."""
    engine = create_engine(
        URL.create("sqlite", database=path),
        # A thread keeps its one connection; another closes it at the end.
        poolclass=NullPool,
        connect_args={"check_same_thread": False},
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: object) -> None:
        # pysqlite's legacy control begins too late (not for SELECT) and never IMMEDIATE.
        connection.isolation_level = None
        try:
            for pragma in CONNECTION_PRAGMAS:
                connection.execute(pragma)
        except Exception:
            # The pool has not taken it over yet: nobody else would close it.
            connection.close()
            raise

    return engine


class SqliteDatabase:
    """A SQLite file: one thread and connection that writes, a few that read."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        """Connect to nothing yet.

        Args:
            path: of the file, absolute or relative to the working directory.
            clock: the store's time. All processes are on one machine, so its clock is theirs.
        """
        self._clock = clock
        engine = sqlite_engine(path)
        self._readers = _Lane(engine, READERS, "BEGIN")
        # IMMEDIATE takes the file's write lock first: nobody changes what a guard has read.
        self._writer = _Lane(engine, 1, "BEGIN IMMEDIATE")

    @property
    def insert(self) -> Callable[[Table], Any]:
        """SQLite's INSERT."""
        return sqlite.insert

    def now(self, connection: Connection) -> float:
        """The machine's time."""
        return self._clock()

    async def read(self, body: Callable[[Connection], T]) -> T:
        """Run a function in one consistent snapshot."""
        return await self._readers.run(body)

    async def write(self, body: Callable[[Connection], T]) -> T:
        """Run a function in a transaction, one at a time."""
        return await self._writer.run(body)

    async def aclose(self) -> None:
        """Wait for what is under way, then close the connections."""
        await self._readers.aclose()
        await self._writer.aclose()


class _Lane:
    """Threads that run transactions, each with a connection of its own."""

    def __init__(self, engine: Engine, threads: int, begin: str) -> None:
        self._engine = engine
        self._begin = begin
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="agui-bridge-sqlite")
        self._own = threading.local()
        self._connections: set[Connection] = set()
        self._closed = False

    async def run(self, body: Callable[[Connection], T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        deadline = time.monotonic() + BUSY_SECONDS
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._transact, body, deadline)

    def _transact(self, body: Callable[[Connection], T], deadline: float) -> T:
        # Behind a transaction that waits for another process's lock, each waits its turn once:
        # without a limit a queue would wait the sum of all their time-outs.
        if time.monotonic() > deadline:
            raise StoreUnavailable("the database is busy: no turn came in time")
        try:
            connection = self._connection()
            try:
                connection.exec_driver_sql(self._begin)
                result = body(connection)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            return result
        except SQLAlchemyError as error:
            self._forget()
            raise_plainly(error)

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._engine.connect()
            self._connections.add(connection)
        return connection

    def _forget(self) -> None:
        """Drop this thread's connection: after an error the next transaction gets a fresh one."""
        connection: Connection | None = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            self._connections.discard(connection)
            connection.invalidate()
            connection.close()

    async def aclose(self) -> None:
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        while self._connections:
            self._connections.pop().close()
