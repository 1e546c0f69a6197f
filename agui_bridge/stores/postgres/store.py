"""The store in PostgreSQL: any number of processes on any number of machines.

The tables and records are those of `SqliteStore`. Where that one reads, decides and writes in a
transaction, here the database decides: each call is one statement (`statements`).
The store's time is the database's clock.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from agui_bridge.errors import Conflict, NotReplicated, StoreUnavailable, WritesRefused
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores import codec
from agui_bridge.stores.announcements import Announcements, MakePost
from agui_bridge.stores.base import (
    ABSENT,
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
from agui_bridge.stores.commit_rules import Head, check_commit, is_in_doubt
from agui_bridge.stores.opening import Preparation
from agui_bridge.stores.postgres.address import parse_address
from agui_bridge.stores.postgres.beside_threads import (
    PostgresAudit,
    PostgresDeliveries,
    PostgresGrants,
    PostgresServers,
)
from agui_bridge.stores.postgres.connections import Connections, connect, set_up
from agui_bridge.stores.postgres.notifications import Notifications, digest
from agui_bridge.stores.postgres.open import inspect_database, prepare_database
from agui_bridge.stores.postgres.rows import (
    change_values,
    head_values,
    read_committed,
    read_record,
)
from agui_bridge.stores.postgres.statements import Statement, Statements
from agui_bridge.stores.sql.rows import (
    filters_of,
    first_of,
    key_row,
    place_values,
    read_interrupt,
    read_message,
    read_stop,
    read_words,
    words_row,
)
from agui_bridge.stores.watching import ANY_STOP, Wakeups

TRIES = 5
"""How often a commit is tried whose guard did not hold, but does when it is looked at again."""

NOTIFY = Statement.of("SELECT pg_notify(:channel, :payload)")


class PostgresStore:
    """Keeps threads in a PostgreSQL database; use `PostgresStore.open`."""

    def __init__(
        self,
        connections: Connections,
        statements: Statements,
        make_post: MakePost | None,
        clock: Callable[[], float] | None,
    ) -> None:
        """Take over connections to a database whose schema is the right one."""
        self._connections = connections
        self._statements = statements
        self._wakeups = Wakeups()
        self._announcements: PerLoop[Announcements] = PerLoop(
            lambda: Announcements(self._wakeups, make_post, self.servers), Announcements.aclose
        )
        self._clock = clock
        self.audit: PostgresAudit = PostgresAudit(self._run, statements)
        self.grants: PostgresGrants = PostgresGrants(self._run, statements)
        self.servers: PostgresServers = PostgresServers(self._run, statements)
        self.deliveries: PostgresDeliveries = PostgresDeliveries(self._run, statements)

    @staticmethod
    async def inspect(url: str) -> Preparation:
        """Say which schema the store has, and which one `open` would give it; change nothing.

        Raises:
            ConfigurationError: as `open`.
            SchemaMismatch: the schema is newer.
            StoreUnavailable: as `open`.
        """
        return await inspect_database(parse_address(url))

    @classmethod
    async def open(
        cls, url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
    ) -> PostgresStore:
        """Open a database, creating or migrating its tables when needed.

        Args:
            url: `postgresql://user:password@host:5432/database`, with the options of
                docs/stores-postgres.md.
            clock: the store's time in tests; None is the database's clock.
            migrate: whether to bring an older schema up to date; else it is only checked.

        Raises:
            ConfigurationError: the address is wrong, or the server does not let us in.
            SchemaMismatch: the schema is newer, or older and `migrate` is false.
            StoreUnavailable: the database does not answer.
        """
        address = parse_address(url)
        pooled = await prepare_database(address, migrate=migrate)
        connections = Connections(address, pooled=pooled)

        async def listener() -> Any:
            connection = await connect(address, prepare=True)
            await set_up(connection, address, durable=False)
            return connection

        def send_test(channel: str, payload: str) -> Any:
            return connections.run(NOTIFY, {"channel": channel, "payload": payload})

        listens = address.listen and not pooled
        statements = Statements(address.schema, timed=clock is not None)
        make_post = partial(Notifications, listener, send_test) if listens else None
        return cls(connections, statements, make_post, clock)

    @property
    def process(self) -> str:
        """What names this process to the others (see `Store.process`)."""
        return self._announcements.get().name

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        """Take one consistent look at a thread (see `Store.load`)."""
        wanted = [] if receipt is None else [receipt]
        values = {"ids": list(interrupt_ids), "messages": messages, "receipt": wanted}
        (row,) = await self._run(self._statements.load, key, values)
        now, asks, receipts, ids, positions, data, *record = row
        interrupts = [codec.decode_interrupt(text) for text in asks]
        done = [codec.decode_receipt(text) for text in receipts]
        loaded = Loaded(
            record=read_record(record),
            now=now,
            interrupts={ask.id: ask for ask in interrupts},
            receipts={receipt.batch: receipt for receipt in done},
            messages=tuple(map(read_message, zip(ids, positions, data, strict=True)))
            if ids
            else (),
        )
        self.servers.loaded.saw(loaded)
        self._announcements.get().looked(digest(key), loaded)
        if is_in_doubt(loaded):
            await self._doubt([key])
        return loaded

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all (see `Store.commit`)."""
        change = self.audit.sealed(key, change, write_id)
        new = expected == ABSENT
        rows, values = change_values(change)
        values |= head_values(change, write_id) | _guard(expected, change.not_after)
        statement = self._statements.commit(new=new, **rows)
        with self._announcements.get().writing(digest(key), change, expected):
            for _ in range(TRIES):
                for row in await self._run(statement, key, values):
                    return read_committed(key, change, write_id, row)
                now, record = await self._record(key)
                if record is not None and record.write_id == write_id:
                    if (done := await self._write_again(key, write_id)) is not None:
                        return done
                    continue
                check_commit(_head(record), expected, now, change.not_after)
            raise Conflict("the thread was changed by somebody else")

    async def _write_again(self, key: ThreadKey, write_id: str) -> Committed | None:
        """Write what an earlier try has written once more, and wait for the standbys to have it.

        The earlier try may have been cut off while it waited for them: that it is found here
        tells nothing of whether they have it.

        Raises:
            NotReplicated: they did not acknowledge it in time.
        """
        try:
            rows = await self._run(self._statements.touch, key, {"write_id": write_id})
        except WritesRefused:
            raise
        except StoreUnavailable as error:
            raise NotReplicated(
                f"the write is in PostgreSQL; whether it outlives a failover is unknown: {error}"
            ) from None
        for now, *record in rows:
            if (found := read_record(record)) is not None:
                return Committed(found, now)
        return None

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """Have leases hold on (see `Store.renew`)."""
        values = _columns(leases.values()) | {"tokens": list(leases), "seconds": seconds}
        ((now, held),) = await self._run(self._statements.renew, None, values)
        renewed = Renewed(frozenset(held), now)
        self._announcements.get().renewed(leases, seconds, renewed)
        return renewed

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """Keep a message as far as it has come (see `Store.keep_words`)."""
        row = words_row({}, lease, said)
        return bool(await self._run(self._statements.keep_words, key, row))

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """What is kept of the run that the thread runs (see `Store.words`)."""
        rows = await self._run(self._statements.words, key)
        return read_words(rows[0][0]) if rows else None

    async def _doubt(self, keys: Sequence[ThreadKey]) -> None:
        """Note of leases that end too late until when they are waited for (see `LeaseTerm`)."""
        with suppress(StoreUnavailable):  # A server that takes no writes can still be read.
            await self._run(self._statements.doubt, None, _columns(keys))

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record (see `Store.request_stop`)."""
        values = {
            "token": stop.token,
            "force": stop.force,
            "until": stop.until,
            "actor": stop.actor,
        }
        try:
            rows = await self._run(self._statements.request_stop, key, values)
        finally:
            # Also after a cancellation or a lost connection: it may have been written.
            self._announcements.get().stop_requested(digest(key), stop)
        return read_record(rows[0]) if rows else None

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens (see `Store.stops`)."""
        if not tokens:
            return []
        rows = await self._run(self._statements.stops, None, {"tokens": list(tokens)})
        return [read_stop(tuple(row)) for row in rows]

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first (see `Store.list_threads`)."""
        values = {
            "scope": scope,
            "agent": agent,
            "before": math.inf if before is None else before,
            "limit": limit,
        }
        rows = []
        for row in await self._run(self._statements.threads, None, values):
            messages, open_interrupts, *record = row
            found = read_record(record)
            assert found is not None, "the key is never null"
            rows.append(ThreadRow(found, messages, open_interrupts))
        return rows

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first (see `Store.list_interrupts`)."""
        found = []
        for wanted in filters_of(which):
            names = frozenset(wanted if after is None else [*wanted, "after"])
            statement = self._statements.interrupts(names, unexpired=which.waits)
            values = {"scope": scope, "limit": limit, **wanted, **place_values(after)}
            rows = await self._run(statement, None, values)
            found.append([read_interrupt(tuple(row)) for row in rows])
        return first_of(found, limit)

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """Count a scope's interrupts (see `Store.count_interrupts`)."""
        found = 0
        for wanted in filters_of(which):
            statement = self._statements.interrupt_count(frozenset(wanted), unexpired=which.waits)
            values = {"scope": scope, "limit": most, **wanted}
            ((some,),) = await self._run(statement, None, values)
            found += some
        return found if most is None else min(found, most)

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """Messages of a thread in order (see `Store.history`)."""
        values = {"before": before, "most": most_bytes}
        rows = await self._run(self._statements.history, key, values)
        return [read_message(tuple(row)) for row in rows]

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """Positions of messages (see `Store.positions`)."""
        rows = await self._run(self._statements.positions, key, {"ids": list(ids)})
        return dict(map(tuple, rows))

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads whose lease is over, or whose every ask has expired (see `Store.due`)."""
        rows = await self._run(self._statements.due, None, {"limit": limit})
        found = [Due(ThreadKey(*key), reason) for *key, reason in rows if reason != "doubt"]
        if in_doubt := [ThreadKey(*key) for *key, reason in rows if reason == "doubt"]:
            await self._doubt(in_doubt)
        return found

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows (see `Store.delete`)."""
        try:
            for _ in range(TRIES):
                if expected != ABSENT and await self._run(
                    self._statements.delete, key, _guard(expected, None), repeatable=False
                ):
                    return
                now, record = await self._record(key)
                check_commit(_head(record), expected, now)
                if record is None:
                    raise Conflict("there is no such thread")
            raise Conflict("the thread was changed by somebody else")
        finally:
            self._announcements.get().changed(digest(key))

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete idle threads that were not touched for long (see `Store.prune`)."""
        values = {"older_than": older_than, "limit": limit}
        if dry_run:
            return len(await self._run(self._statements.prunable, None, values))
        pruned = await self._run(self._statements.prune, None, values)
        for row in pruned:
            self._announcements.get().changed(digest(ThreadKey(*row)))
        return len(pruned)

    async def ping(self) -> float:
        """The store's time, after a write to a row of its own (see `Store.ping`)."""
        now: float = (await self._run(self._statements.ping))[0][0]
        return now

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed (see `Store.watch`).

        Only a hint: changes made through this object wake at once, the end of another process's
        run by a notification, and all else, or where no notifications arrive, by polling.
        """
        announcements, thread = self._announcements.get(), digest(key)

        async def mark() -> tuple[Any, ...]:
            rows = await self._run(self._statements.mark, key)
            return tuple(rows[0]) if rows else ()

        announcements.start()
        return self._wakeups.watch(thread, announcements.look(thread, mark))

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """Yield whenever anybody may have been asked to stop (see `Store.watch_stops`)."""
        self._announcements.get().start()
        return self._wakeups.watch(ANY_STOP)

    async def aclose(self) -> None:
        """Release connections; the store can't be used afterwards."""
        await self._announcements.aclose()
        await self._connections.aclose()

    async def _run(
        self,
        statement: Statement,
        key: ThreadKey | None = None,
        values: dict[str, Any] | None = None,
        *,
        repeatable: bool = True,
    ) -> list[Any]:
        given = {"now": self._clock() if self._clock else None, **(values or {})}
        if key is not None:
            given |= key_row(key)
        return await self._connections.run(statement, given, repeatable=repeatable)

    async def _record(self, key: ThreadKey) -> tuple[float, ThreadRecord | None]:
        now, *record = (await self._run(self._statements.record, key))[0]
        return now, read_record(record)


def _head(record: ThreadRecord | None) -> Head | None:
    return None if record is None else Head.of(record)


def _columns(keys: Iterable[ThreadKey]) -> dict[str, Any]:
    """The parameters of several threads."""
    every = list(keys)
    return {
        "scopes": [key.scope for key in every],
        "agents": [key.agent for key in every],
        "threads": [key.thread for key in every],
    }


def _guard(expected: Expected, not_after: float | None) -> dict[str, Any]:
    return {
        "version": expected.version,
        "guard": expected.lease,
        "after": expected.after,
        "not_after": not_after,
    }
