"""Group commit: transactions that wait for the disk share one COMMIT.

`synchronous=FULL` waits for the disk at each COMMIT. One thread takes what is queued: each
transaction but the first runs within a savepoint of its own, so that one that fails fails alone,
and none is acknowledged before the COMMIT that holds it. Nobody waits for company: a transaction
that is alone commits at once, and those that come meanwhile are the next group.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, TypeVar

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.sqlite.errors import is_damage
from agui_bridge.stores.sqlite.file import DatabaseFile

__all__ = ["LONGEST_GROUP", "MOST_TOGETHER", "Writer"]

T = TypeVar("T")
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
