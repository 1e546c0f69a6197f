"""The store in a SQLite file: `SqliteStore`.

Each method is one transaction, written as a plain function over a connection of the driver.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agui_bridge.errors import Conflict, StoreUnavailable
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import LeaseTerm
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Receipt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores import codec
from agui_bridge.stores.base import (
    EVERY_QUESTION,
    Change,
    Committed,
    Due,
    Expected,
    InterruptRow,
    Place,
    QuestionFilter,
    Renewed,
    ThreadRow,
)
from agui_bridge.stores.commit_rules import (
    Head,
    check_commit,
    is_in_doubt,
    join_stops,
    next_record,
)
from agui_bridge.stores.opening import Preparation
from agui_bridge.stores.pages import first_within
from agui_bridge.stores.sql.rows import (
    filters_of,
    first_of,
    key_row,
    place_values,
    read_head,
    read_interrupt,
    read_message,
    read_messages,
    read_stop,
    read_thread,
    read_words,
    stop_row,
    words_row,
)
from agui_bridge.stores.sqlite import statements
from agui_bridge.stores.sqlite.beside_threads import (
    SqliteAudit,
    SqliteDeliveries,
    SqliteGrants,
    SqliteServers,
)
from agui_bridge.stores.sqlite.database import SqliteDatabase
from agui_bridge.stores.sqlite.open import inspect_database, open_database
from agui_bridge.stores.sqlite.statements import put_rows, put_thread, renew_leases
from agui_bridge.stores.watching import ANY_STOP, Wakeups

STOP_PAUSE = 0.02
"""Seconds between two looks whether the file has changed, for who watches stops."""

MOST_PARAMETERS = 500
"""Ids that go into one statement; databases have limits, clients have none."""


class SqliteStore:
    """Keeps threads in a SQLite file; use `SqliteStore.open`."""

    def __init__(self, database: SqliteDatabase) -> None:
        """Take over a database whose schema is the right one.

        Args:
            database: is closed with the store.
        """
        self._database = database
        self._wakeups = Wakeups()
        self.audit: SqliteAudit = SqliteAudit(database)
        self.grants: SqliteGrants = SqliteGrants(database)
        self.deliveries: SqliteDeliveries = SqliteDeliveries(database)
        self.servers: SqliteServers = SqliteServers(database)

    @staticmethod
    async def inspect(url: str) -> Preparation:
        """Say which schema the store has, and which one `open` would give it; change nothing.

        Raises:
            ConfigurationError: as `open`.
            SchemaMismatch: the schema is newer.
            StoreUnavailable: as `open`.
        """
        return await asyncio.to_thread(inspect_database, url)

    @classmethod
    async def open(
        cls, url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
    ) -> SqliteStore:
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

    @property
    def process(self) -> str:
        """Nothing (see `Store.process`): no process hears of another one."""
        return ""

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        """Take one consistent look at a thread (see `Store.load`)."""

        def body(connection: sqlite3.Connection) -> Loaded:
            record: ThreadRecord | None = None
            context: tuple[StoredMessage, ...] = ()
            asks: list[Interrupt] = []
            receipts: list[Receipt] = []
            for some in _portions(interrupt_ids) or [()]:
                # Once is enough for the messages.
                statement = statements.load(len(some), messages=messages and record is None)
                parameters = key_row(key) | statements.numbered("id", some) | {"receipt": receipt}
                row = connection.execute(statement, parameters).fetchone()
                if row is None:
                    break
                *columns, found_asks, found_receipts, found_messages = row
                if record is None:
                    record = read_thread(columns)
                    context = read_messages(found_messages)
                asks += map(codec.decode_interrupt, _lines(found_asks))
                receipts += map(codec.decode_receipt, _lines(found_receipts))
            batches = {receipt, *(ask.batch for ask in asks)}
            return Loaded(
                record=record,
                now=self._database.now(),
                interrupts={ask.id: ask for ask in asks},
                receipts={done.batch: done for done in receipts if done.batch in batches},
                messages=context,
            )

        loaded = await self._database.read(body)
        self.servers.loaded.saw(loaded)
        if is_in_doubt(loaded):
            await self._doubt([key])
        return loaded

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all (see `Store.commit`)."""
        change = self.audit.sealed(key, change, write_id)

        def body(connection: sqlite3.Connection) -> Committed:
            head = self._head(connection, key)
            now = self._database.now()
            if head is not None and head.write_id == write_id:
                stored = self._record(connection, key)
                assert stored is not None, "the row is locked by this transaction"
                return Committed(stored, now)
            check_commit(head, expected, now, change.not_after)
            record = next_record(key, change, head, write_id, now)
            put_thread(connection, record, new=head is None)
            put_rows(connection, key, change, now)
            return Committed(record, now)

        try:
            return await self._database.write(body)
        finally:
            # Also after a cancellation or a lost connection: it may have been written.
            self._wakeups.notify(key)

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """Have leases hold on (see `Store.renew`)."""

        def body(connection: sqlite3.Connection) -> Renewed:
            now = self._database.now()
            return Renewed(renew_leases(connection, leases, now, now + seconds), now)

        return await self._database.write(body)

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """Keep a message as far as it has come (see `Store.keep_words`)."""
        row = words_row(key_row(key), lease, said)

        def body(connection: sqlite3.Connection) -> bool:
            values = {**row, "now": self._database.now()}
            return connection.execute(statements.KEEP_WORDS, values).rowcount > 0

        return await self._database.write(body)

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """What is kept of the run that the thread runs (see `Store.words`)."""

        def body(connection: sqlite3.Connection) -> StoredMessage | None:
            row = connection.execute(statements.WORDS, key_row(key)).fetchone()
            return None if row is None else read_words(row[0])

        return await self._database.read(body)

    async def _doubt(self, keys: Sequence[ThreadKey]) -> None:
        """Note of leases that end too late until when they are waited for (see `LeaseTerm`)."""

        def body(connection: sqlite3.Connection) -> None:
            now = {"now": self._database.now()}
            connection.executemany(statements.DOUBT, [key_row(key) | now for key in keys])

        with suppress(StoreUnavailable):  # A file that takes no writes can still be read.
            await self._database.write(body)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record (see `Store.request_stop`)."""

        def body(connection: sqlite3.Connection) -> ThreadRecord | None:
            head = self._head(connection, key)
            if head is None:
                return None
            values = stop_row(join_stops(head, stop))
            connection.execute(statements.REQUEST_STOP, key_row(key) | values)
            return self._record(connection, key)

        try:
            return await self._database.write(body)
        finally:
            self._wakeups.notify(key)
            self._wakeups.notify(ANY_STOP)

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens (see `Store.stops`)."""
        if not tokens:
            return []

        def body(connection: sqlite3.Connection) -> list[StopRequest]:
            return [
                read_stop(row)
                for some in _portions(tokens)
                for row in connection.execute(
                    statements.stops(len(some)), statements.numbered("token", some)
                )
            ]

        return await self._database.read(body)

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first (see `Store.list_threads`)."""

        def body(connection: sqlite3.Connection) -> list[ThreadRow]:
            parameters = {
                "scope": scope,
                "agent": agent,
                "before": math.inf if before is None else before,
                "limit": limit,
                "now": self._database.now(),
            }
            return [
                ThreadRow(read_thread(row), messages, open_interrupts)
                for *row, messages, open_interrupts in connection.execute(
                    statements.THREADS, parameters
                )
            ]

        return await self._database.read(body)

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first (see `Store.list_interrupts`)."""

        def body(connection: sqlite3.Connection) -> list[InterruptRow]:
            values = {"scope": scope, "limit": limit, "now": self._database.now()}
            values |= place_values(after)
            found = []
            for wanted in filters_of(which):
                names = frozenset(wanted if after is None else [*wanted, "after"])
                statement = statements.list_interrupts(names, unexpired=which.waits)
                found.append(map(read_interrupt, connection.execute(statement, values | wanted)))
            return first_of(found, limit)

        return await self._database.read(body)

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """Count a scope's interrupts (see `Store.count_interrupts`)."""
        limit = -1 if most is None else most

        def body(connection: sqlite3.Connection) -> int:
            values = {"scope": scope, "limit": limit, "now": self._database.now()}
            found = 0
            for wanted in filters_of(which):
                statement = statements.count_interrupts(frozenset(wanted), unexpired=which.waits)
                found += connection.execute(statement, values | wanted).fetchone()[0]
            return found if most is None else min(found, most)

        return await self._database.read(body)

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """Messages of a thread in order (see `Store.history`)."""

        def body(connection: sqlite3.Connection) -> list[StoredMessage]:
            if before is None and most_bytes is None:
                rows = connection.execute(statements.HISTORY, key_row(key))
                return [read_message(row) for row in rows]
            # Their texts are sorted by nobody: SQLite would have all of them in memory.
            sizes = connection.execute(statements.SIZES, key_row(key) | {"before": before})
            found = reversed(first_within(sizes, most_bytes))
            page = [
                connection.execute(statements.MESSAGE, key_row(key) | {"id": id}).fetchone()
                for id in found
            ]
            return [read_message(row) for row in page]

        return await self._database.read(body)

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """Positions of messages (see `Store.positions`)."""

        def body(connection: sqlite3.Connection) -> dict[str, int]:
            return {
                id: position
                for some in _portions(ids)
                for id, position in connection.execute(
                    statements.positions(len(some)),
                    key_row(key) | statements.numbered("id", some),
                )
            }

        return await self._database.read(body)

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads whose lease is over, or whose every ask has expired (see `Store.due`)."""
        in_doubt: list[ThreadKey] = []

        def body(connection: sqlite3.Connection) -> list[Due]:
            now = self._database.now()
            parameters = {"now": now, "limit": limit}
            leases = connection.execute(statements.LEASES_OVER, parameters)
            found = [Due(ThreadKey(*row), "lease") for row in leases]
            for *key, ends_at, given_at, until in connection.execute(
                statements.LEASES_AHEAD, parameters
            ):
                term = LeaseTerm(ends_at, given_at, until)
                if term.is_over(now):
                    found.append(Due(ThreadKey(*key), "lease"))
                elif term.doubt(now) is not None:
                    in_doubt.append(ThreadKey(*key))
            parameters["limit"] = max(limit - len(found), 0)
            batches = connection.execute(statements.BATCHES_EXPIRED, parameters)
            found += [Due(ThreadKey(*row), "expiry") for row in batches]
            looks = connection.execute(statements.LOOKS_DUE, parameters)
            return (found + [Due(ThreadKey(*row), "expiry") for row in looks])[:limit]

        due = await self._database.read(body)
        if in_doubt:
            await self._doubt(in_doubt)
        return due

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows (see `Store.delete`)."""

        def body(connection: sqlite3.Connection) -> None:
            head = self._head(connection, key)
            check_commit(head, expected, self._database.now())
            if head is None:
                raise Conflict("there is no such thread")
            connection.execute(statements.DELETE_THREAD, key_row(key))

        try:
            await self._database.write(body)
        finally:
            self._wakeups.notify(key)

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete idle threads that were not touched for long (see `Store.prune`)."""

        def body(connection: sqlite3.Connection) -> list[ThreadKey]:
            latest = self._database.now() - older_than
            old = connection.execute(statements.OLD, {"latest": latest, "limit": limit})
            keys = [ThreadKey(*row) for row in old]
            if keys and not dry_run:
                connection.executemany(statements.DELETE_THREAD, [key_row(key) for key in keys])
            return keys

        if dry_run:
            return len(await self._database.read(body))
        pruned = await self._database.write(body)
        for key in pruned:
            self._wakeups.notify(key)
        return len(pruned)

    async def ping(self) -> float:
        """The store's time, after a write to a row of its own (see `Store.ping`)."""

        def body(connection: sqlite3.Connection) -> float:
            now = self._database.now()
            connection.execute(statements.PROBE, {"now": now})
            return now

        return await self._database.write(body)

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed (see `Store.watch`).

        Only a hint: changes made through this object wake at once, those of other processes
        are found by polling, up to half a second later.
        """
        parameters = key_row(key)

        def body(connection: sqlite3.Connection) -> tuple[Any, ...] | None:
            row = connection.execute(statements.MARK, parameters).fetchone()
            return None if row is None else tuple(row)

        return self._wakeups.watch(key, lambda: self._database.read(body))

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """Yield whenever anybody may have been asked to stop (see `Store.watch_stops`).

        Another process's request is found by looking at the file: any write of its counts.
        """
        look = self._database.last_written_elsewhere
        return self._wakeups.watch(ANY_STOP, look, (STOP_PAUSE, STOP_PAUSE))

    async def aclose(self) -> None:
        """Release connections; the store can't be used afterwards."""
        await self._database.aclose()

    def _head(self, connection: sqlite3.Connection, key: ThreadKey) -> Head | None:
        row = connection.execute(statements.HEAD, key_row(key)).fetchone()
        return None if row is None else read_head(row)

    def _record(self, connection: sqlite3.Connection, key: ThreadKey) -> ThreadRecord | None:
        row = connection.execute(statements.RECORD, key_row(key)).fetchone()
        return None if row is None else read_thread(row)


def _portions(items: Sequence[str]) -> list[Sequence[str]]:
    return [items[at : at + MOST_PARAMETERS] for at in range(0, len(items), MOST_PARAMETERS)]


def _lines(texts: str | None) -> list[str]:
    # JSON text holds no line break of its own.
    return texts.split("\n") if texts else []
