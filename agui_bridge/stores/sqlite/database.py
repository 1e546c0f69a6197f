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
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.sqlite.file import BUSY_SECONDS, DatabaseFile, is_damage

# --- group commit: transactions that wait for the disk share one COMMIT ---
#
# `synchronous=FULL` waits for the disk at each COMMIT. One thread takes what is queued: each
# transaction but the first runs within a savepoint of its own, so that one that fails fails alone,
# and none is acknowledged before the COMMIT that holds it. Nobody waits for company: a transaction
# that is alone commits at once, and those that come meanwhile are the next group.

Body = Callable[[sqlite3.Connection], Any]

MOST_TOGETHER: Final = 100
"""How many transactions share a COMMIT at most."""

LONGEST_GROUP: Final = 0.05
"""Seconds after which a group takes nobody in any more: other processes want the file's lock."""


class _Transaction:
    """One that waits, runs, or waits for its COMMIT."""

    def __init__(self, body: Body, patience: float) -> None:
        self.body = body
        self.deadline = time.monotonic() + patience
        self.loop = asyncio.get_running_loop()
        self.acknowledged: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self, connection: sqlite3.Connection) -> None:
        try:
            self.result = self.body(connection)
        except BaseException as error:
            self.error = error

    def acknowledge(self) -> None:
        """Tell the caller, who may have gone; on its own loop."""
        if self.acknowledged.done():
            return
        if self.error is not None:
            self.acknowledged.set_exception(self.error)
        else:
            self.acknowledged.set_result(self.result)


class Writer:
    """The one thread and connection of a process that write to a file."""

    def __init__(
        self,
        file: DatabaseFile,
        patience: Callable[[], float],
        committed: Callable[[], None],
    ) -> None:
        """Connect to nothing yet.

        Args:
            file: what is written to.
            patience: gives how many seconds a transaction waits for its turn.
            committed: called after each COMMIT, in the writer's thread, before anybody is told.
        """
        self._file = file
        self._patience = patience
        self._committed = committed
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="agui-bridge-sqlite-writer")
        self._queue: deque[_Transaction] = deque()
        self._lock = threading.Lock()
        self._at_work = False
        self._closed = False

    async def run(self, body: Callable[[sqlite3.Connection], T]) -> T:
        """Run a function in a transaction; return what it gave once that is on disk.

        A caller that is cancelled before the function's turn takes it out of the queue; later,
        the transaction takes place.

        Raises:
            StoreUnavailable: the database did not answer, or no turn came in time.
        """
        transaction = _Transaction(body, self._patience())
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._queue.append(transaction)
            wake, self._at_work = not self._at_work, True
            if wake:
                self._thread.submit(self._work)
        result: T = await transaction.acknowledged
        return result

    async def aclose(self) -> None:
        """Wait for what is under way, then close the connection."""
        with self._lock:
            self._closed = True
        await asyncio.to_thread(self._thread.shutdown)
        self._forget()

    def _work(self) -> None:
        while True:
            self._run_group()
            with self._lock:
                if not self._queue:
                    self._at_work = False
                    return

    def _next(self) -> _Transaction | None:
        """The next one that somebody still waits for, and not too long already."""
        while self._queue:
            transaction = self._queue.popleft()
            if transaction.acknowledged.cancelled():
                continue
            # Behind a transaction that waits for another process's lock, each waits its turn
            # once: without a limit a queue would wait the sum of all their time-outs.
            if time.monotonic() <= transaction.deadline:
                return transaction
            transaction.error = StoreUnavailable("the database is busy: no turn came in time")
            _acknowledge([transaction])
        return None

    def _run_group(self) -> None:
        first = self._next()
        if first is None:
            return
        group = [first]
        try:
            connection = self._begin()
            first.run(connection)
            if first.error is None:
                self._take_in(connection, group)
                if is_damage(group[-1].error):
                    raise group[-1].error
                connection.execute("COMMIT")
                self._committed()
                # Nothing is acknowledged that went where nobody finds it.
                self._file.check()
            elif connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(group[-1].error, sqlite3.Error):
                self._forget()
        except BaseException as error:
            # Also of those that were refused: they had seen what the others wrote.
            for transaction in group:
                transaction.error = error
            self._forget()
        for transaction in group:
            if isinstance(transaction.error, sqlite3.Error):
                transaction.error = self._file.plainly(transaction.error)
        _acknowledge(group)

    def _begin(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._file.connect()
        # IMMEDIATE takes the file's write lock first: nobody changes what a guard has read.
        self._connection.execute("BEGIN IMMEDIATE")
        self._file.check()
        return self._connection

    def _take_in(self, connection: sqlite3.Connection, group: list[_Transaction]) -> None:
        """Run those that wait behind the first one; the last may have failed by SQLite's error.

        Raises:
            Exception: the transaction that they share is lost, and who is still in the group
                fails.
        """
        until = time.monotonic() + LONGEST_GROUP
        while len(group) < MOST_TOGETHER and time.monotonic() < until:
            transaction = self._next()
            if transaction is None:
                return
            group.append(transaction)
            connection.execute("SAVEPOINT one")
            transaction.run(connection)
            if transaction.error is not None:
                if not connection.in_transaction:
                    # SQLite itself has rolled back, which a full disk makes it do. The others
                    # have been told nothing yet: they have their turn again.
                    self._put_back(group[:-1])
                    del group[:-1]
                    raise transaction.error
                connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            if isinstance(transaction.error, sqlite3.Error):
                return

    def _put_back(self, transactions: list[_Transaction]) -> None:
        for transaction in reversed(transactions):
            transaction.error = None
            self._queue.appendleft(transaction)

    def _forget(self) -> None:
        """Drop the connection: after an error the next transaction gets a fresh one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _acknowledge(transactions: list[_Transaction]) -> None:
    """Tell the callers, with one wake-up for each loop."""

    def tell(loop: asyncio.AbstractEventLoop) -> None:
        for transaction in transactions:
            if transaction.loop is loop:
                transaction.acknowledge()

    for loop in {transaction.loop for transaction in transactions}:
        with suppress(RuntimeError):  # The loop is closed: nobody waits there any more.
            loop.call_soon_threadsafe(tell, loop)


# --- the readers, and the store's way to both ---

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
