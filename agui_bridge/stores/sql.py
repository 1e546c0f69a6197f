"""The store in a SQL database: `SqlStore`. SQLite today; see `sql_database` for the next one.

Each method is one transaction, written as a plain function over a connection.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from agui_bridge.errors import Conflict
from agui_bridge.protocol.history import StoredMessage
from agui_bridge.protocol.records import (
    Batch,
    Interrupt,
    InterruptStatus,
    Loaded,
    Receipt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores import codec, rules
from agui_bridge.stores.base import Change, Committed, Due, Expected, InterruptRow, ThreadRow
from agui_bridge.stores.sql_database import Database
from agui_bridge.stores.sql_open import open_database
from agui_bridge.stores.sql_rows import (
    interrupt_row,
    key_row,
    message_row,
    read_head,
    read_message,
    read_stop,
    read_thread,
    receipt_row,
    stop_row,
    thread_row,
)
from agui_bridge.stores.sql_statements import Statements, key_parameters
from agui_bridge.stores.watching import Wakeups

__all__ = ["SqlStore"]

MOST_PARAMETERS = 500
"""Ids that go into one statement; databases have limits, clients have none."""


class SqlStore:
    """Keeps threads in a SQL database; use `SqlStore.open`."""

    def __init__(self, database: Database) -> None:
        """Take over a database whose schema is the right one.

        Args:
            database: is closed with the store.
        """
        self._database = database
        self._statements = Statements(database.insert)
        self._wakeups = Wakeups()

    @classmethod
    async def open(
        cls, url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
    ) -> SqlStore:
        """Open a database, creating or migrating it when needed.

        Args:
            url: `sqlite:///relative.db` or `sqlite:////absolute.db`.
            clock: the store's time, where it is the process's; None is the machine's clock.
            migrate: whether to bring an older schema up to date; else it is only checked.

        Raises:
            ConfigurationError: the address is wrong, or what lies there is no database.
            SchemaMismatch: the database is newer, or older and `migrate` is false.
            StoreUnavailable: the database does not answer.
        """
        return cls(await open_database(url, clock=clock, migrate=migrate))

    async def load(
        self, key: ThreadKey, interrupt_ids: Sequence[str] = (), *, messages: bool = False
    ) -> Loaded:
        """Take one consistent look at a thread (see `Store.load`)."""

        def body(connection: Connection) -> Loaded:
            record = self._record(connection, key)
            if record is None:
                return Loaded(None, self._database.now(connection))
            parameters = key_parameters(key)
            interrupts, receipts = self._batches(connection, key, record.batch, interrupt_ids)
            context: Iterable[Any] = ()
            if messages:
                context = connection.execute(self._statements.context, parameters)
            return Loaded(
                record=record,
                now=self._database.now(connection),
                interrupts=interrupts,
                receipts=receipts,
                messages=tuple(read_message(row) for row in context),
            )

        return await self._database.read(body)

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all (see `Store.commit`)."""

        def body(connection: Connection) -> Committed:
            head = self._head(connection, key)
            now = self._database.now(connection)
            if head is not None and head.write_id == write_id:
                stored = self._record(connection, key)
                assert stored is not None, "the row is locked by this transaction"
                return Committed(stored, now)
            rules.check(head, expected, now, change.not_after)
            record = rules.next_record(key, change, head, write_id, now)
            self._put_thread(connection, record, new=head is None)
            self._put_rows(connection, key, change, now)
            return Committed(record, now)

        try:
            return await self._database.write(body)
        finally:
            # Also after a cancellation or a lost connection: it may have been written.
            self._wakeups.notify(key)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record (see `Store.request_stop`)."""

        def body(connection: Connection) -> ThreadRecord | None:
            head = self._head(connection, key)
            if head is None:
                return None
            values = stop_row(rules.sharpen(head, stop))
            connection.execute(self._statements.update_thread, key_parameters(key) | values)
            return self._record(connection, key)

        try:
            return await self._database.write(body)
        finally:
            self._wakeups.notify(key)

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens (see `Store.stops`)."""
        if not tokens:
            return []

        def body(connection: Connection) -> list[StopRequest]:
            return [
                read_stop(row)
                for some in _portions(tokens)
                for row in connection.execute(self._statements.stops, {"tokens": some})
            ]

        return await self._database.read(body)

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first (see `Store.list_threads`)."""

        def body(connection: Connection) -> list[ThreadRow]:
            parameters = {
                "k_scope": scope,
                "k_agent": agent,
                "before": math.inf if before is None else before,
                "limit": limit,
                "now": self._database.now(connection),
            }
            return [
                ThreadRow(read_thread(row), messages, open_interrupts)
                for *row, messages, open_interrupts in connection.execute(
                    self._statements.threads, parameters
                )
            ]

        return await self._database.read(body)

    async def list_interrupts(
        self,
        scope: str,
        *,
        agent: str | None = None,
        thread: str | None = None,
        status: InterruptStatus | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first (see `Store.list_interrupts`)."""
        statement = self._statements.list_interrupts(
            agent=agent is not None,
            thread=thread is not None,
            status=status is not None,
            unexpired=status is InterruptStatus.OPEN,
        )

        def body(connection: Connection) -> list[InterruptRow]:
            parameters = {
                "k_scope": scope,
                "k_agent": agent,
                "k_thread": thread,
                "k_status": status and status.value,
                "limit": limit,
                "now": self._database.now(connection),
            }
            return [
                InterruptRow(ThreadKey(*key), codec.decode_interrupt(data))
                for *key, data in connection.execute(statement, parameters)
            ]

        return await self._database.read(body)

    async def history(self, key: ThreadKey) -> list[StoredMessage]:
        """All messages of a thread in order (see `Store.history`)."""

        def body(connection: Connection) -> list[StoredMessage]:
            rows = connection.execute(self._statements.history, key_parameters(key))
            return [read_message(row) for row in rows]

        return await self._database.read(body)

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads whose lease is over, or whose every ask has expired (see `Store.due`)."""

        def body(connection: Connection) -> list[Due]:
            parameters = {"now": self._database.now(connection), "limit": limit}
            leases = connection.execute(self._statements.leases_over, parameters)
            found = [Due(ThreadKey(*row), "lease") for row in leases]
            parameters["limit"] = limit - len(found)
            batches = connection.execute(self._statements.batches_expired, parameters)
            return found + [Due(ThreadKey(*row), "expiry") for row in batches]

        return await self._database.read(body)

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows (see `Store.delete`)."""

        def body(connection: Connection) -> None:
            head = self._head(connection, key)
            rules.check(head, expected, self._database.now(connection))
            if head is None:
                raise Conflict("there is no such thread")
            connection.execute(self._statements.delete_thread, key_parameters(key))

        try:
            await self._database.write(body)
        finally:
            self._wakeups.notify(key)

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete idle threads that were not touched for long (see `Store.prune`)."""

        def body(connection: Connection) -> list[ThreadKey]:
            latest = self._database.now(connection) - older_than
            old = connection.execute(self._statements.old, {"latest": latest, "limit": limit})
            keys = [ThreadKey(*row) for row in old]
            if keys:
                connection.execute(
                    self._statements.delete_thread, [key_parameters(key) for key in keys]
                )
            return keys

        pruned = await self._database.write(body)
        for key in pruned:
            self._wakeups.notify(key)
        return len(pruned)

    async def ping(self) -> float:
        """The store's time, after a look at the database (see `Store.ping`)."""

        def body(connection: Connection) -> float:
            # A bare SELECT 1 would not touch a SQLite file at all.
            connection.execute(self._statements.mark, key_parameters(ThreadKey("", "", "")))
            return self._database.now(connection)

        return await self._database.read(body)

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed (see `Store.watch`).

        Only a hint: changes made through this object wake at once, those of other processes
        are found by polling, up to half a second later.
        """
        parameters = key_parameters(key)

        def body(connection: Connection) -> tuple[Any, ...] | None:
            row = connection.execute(self._statements.mark, parameters).first()
            return None if row is None else tuple(row)

        return self._wakeups.watch(key, lambda: self._database.read(body))

    async def aclose(self) -> None:
        """Release connections; the store can't be used afterwards."""
        await self._database.aclose()

    def _head(self, connection: Connection, key: ThreadKey) -> rules.Head | None:
        row = connection.execute(self._statements.head, key_parameters(key)).first()
        return None if row is None else read_head(row)

    def _record(self, connection: Connection, key: ThreadKey) -> ThreadRecord | None:
        row = connection.execute(self._statements.record, key_parameters(key)).first()
        return None if row is None else read_thread(row)

    def _batches(
        self, connection: Connection, key: ThreadKey, own: Batch | None, ids: Sequence[str]
    ) -> tuple[dict[str, Interrupt], dict[str, Receipt]]:
        """The record's own batch and those of some ids, whole, with their receipts."""
        parameters: dict[str, Any] = key_parameters(key)
        batches = {own.id} if own else set()
        for some in _portions(ids):
            parameters["k_ids"] = some
            batches.update(connection.scalars(self._statements.batches, parameters))
        asks: list[Interrupt] = []
        for some in _portions(batches):
            parameters["k_batches"] = some
            rows = connection.scalars(self._statements.interrupts, parameters)
            asks += map(codec.decode_interrupt, rows)
        receipts: list[Receipt] = []
        for some in _portions({ask.batch for ask in asks}):
            parameters["k_batches"] = some
            rows = connection.scalars(self._statements.receipts, parameters)
            receipts += map(codec.decode_receipt, rows)
        return {ask.id: ask for ask in asks}, {receipt.batch: receipt for receipt in receipts}

    def _put_thread(self, connection: Connection, record: ThreadRecord, *, new: bool) -> None:
        values = thread_row(record)
        if not new:
            connection.execute(self._statements.update_thread, key_parameters(record.key) | values)
            return
        try:
            connection.execute(self._statements.insert_thread, key_row(record.key) | values)
        except IntegrityError as error:
            # A missing row can't be locked: where writers run side by side, this decides.
            raise Conflict("the thread exists already") from error.orig

    def _put_rows(self, connection: Connection, key: ThreadKey, change: Change, now: float) -> None:
        columns = key_row(key)
        if change.interrupts:
            connection.execute(
                self._statements.put_interrupts,
                [interrupt_row(columns, ask, now) for ask in change.interrupts],
            )
        if change.receipts:
            connection.execute(
                self._statements.put_receipts,
                [receipt_row(columns, receipt) for receipt in change.receipts],
            )
        if change.messages:
            connection.execute(
                self._statements.put_messages,
                [message_row(columns, message) for message in change.messages],
            )
        if change.superseded:
            connection.execute(
                self._statements.supersede,
                [key_parameters(key) | {"k_id": id} for id in change.superseded],
            )


def _portions(items: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(items)
    while some := list(islice(iterator, MOST_PARAMETERS)):
        yield some
