"""The store in Redis 6 or later, or Valkey: one server, or a cluster.

Each method that writes is one script, so that it happens whole or not at all; loading is one
script too. Lists are read in two steps, first names and then rows, and leave out what changed
in between.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial

from agui_bridge.errors import Conflict
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores import codec
from agui_bridge.stores.announcements import Announcements, is_on_the_way
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
from agui_bridge.stores.commit_rules import check_commit
from agui_bridge.stores.opening import Preparation
from agui_bridge.stores.redis.beside_threads import RedisAudit, RedisGrants, RedisServers
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.deliveries import RedisDeliveries
from agui_bridge.stores.redis.notifications import Notifications
from agui_bridge.stores.redis.open import inspect_store, open_client
from agui_bridge.stores.redis.rows import (
    Keys,
    Write,
    filter_arguments,
    first_of,
    guard_arguments,
    key_of,
    lease_argument,
    member_of,
    message_text,
    place_of,
    quote,
    read_head,
    read_interrupt,
    read_lease,
    read_listed,
    read_message,
    read_messages,
    read_record,
    read_stop_member,
    stop_text,
    tag_of,
)
from agui_bridge.stores.redis.scripts.reading import (
    COUNT_INTERRUPTS,
    DUE,
    FIND_INTERRUPTS,
    HISTORY,
    IDLE,
    INTERRUPT_ROWS,
    LIST_ROW,
    LOAD,
    MARK,
    NEWEST,
    PING,
    POSITIONS,
    SORT_BY_TOOL,
    STOPS,
    TIME,
    WORDS,
)
from agui_bridge.stores.redis.scripts.writing import (
    COMMIT,
    DELETE,
    KEEP_WORDS,
    PRUNE,
    RENEW,
    REQUEST_STOP,
)
from agui_bridge.stores.watching import ANY_STOP, Wakeups

MOST_KNOWN = 20_000
"""Runs of this process whose shard is known; stops of others are looked for in all."""

MOST_ARGUMENTS = 500
"""Tokens that go into one call: a script holds up all others while it runs."""


class RedisStore:
    """Keeps threads in Redis; use `RedisStore.open`."""

    def __init__(
        self, client: Client, keys: Keys, *, clock: Callable[[], float] | None = None
    ) -> None:
        """Take over connections to a server that is fit.

        Args:
            client: is closed with the store.
            keys: the layout.
            clock: the store's time instead of the server's, for tests.
        """
        self._client = client
        self._keys = keys
        self._clock = clock
        self._wakeups = Wakeups()
        self._shards: dict[str, tuple[str, str]] = {}
        self.audit: RedisAudit = RedisAudit(client, keys, self._time)
        self.grants: RedisGrants = RedisGrants(client, keys, self._time)
        self.deliveries: RedisDeliveries = RedisDeliveries(client, keys, self._time)
        self.servers: RedisServers = RedisServers(client, keys, self._time)
        make_post = partial(Notifications, client, keys) if client.address.listen else None
        self._announcements: PerLoop[Announcements] = PerLoop(
            lambda: Announcements(self._wakeups, make_post, self.servers), Announcements.aclose
        )

    @staticmethod
    async def inspect(url: str) -> Preparation:
        """Say which schema the store has, and which one `open` would give it; change nothing.

        Raises:
            ConfigurationError: as `open`.
            SchemaMismatch: the schema is newer.
            StoreUnavailable: as `open`.
        """
        return await inspect_store(url)

    @classmethod
    async def open(
        cls, url: str, *, clock: Callable[[], float] | None = None, migrate: bool = True
    ) -> RedisStore:
        """Connect, and make the store when it is missing.

        Args:
            url: `redis://host:6379/0?prefix=agui`, also `rediss`, `redis+cluster` and
                `rediss+cluster`; docs/stores-redis.md has the options.
            clock: the store's time instead of the server's, for tests.
            migrate: whether to make a missing store; else it is only checked.

        Raises:
            ConfigurationError: the address is wrong, or the server may lose threads.
            SchemaMismatch: the store is of another version, or missing and `migrate` is false.
            StoreUnavailable: the server does not answer.
        """
        client, keys = await open_client(url, migrate=migrate)
        return cls(client, keys, clock=clock)

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
        tag = tag_of(key)
        time, *found = await self._client.run(
            LOAD,
            self._keys.of(tag),
            self._time(),
            "1" if messages else "",
            "" if receipt is None else quote(receipt),
            *dict.fromkeys(map(quote, interrupt_ids)),
        )
        if not found:
            absent = Loaded(None, float(time))
            self._announcements.get().looked(tag, absent)
            return absent
        record, asks, receipts, rows = found
        interrupts = map(read_interrupt, asks)
        closed = map(codec.decode_receipt, receipts)
        loaded = Loaded(
            record=read_record(record, key),
            now=float(time),
            interrupts={ask.id: ask for ask in interrupts},
            receipts={receipt.batch: receipt for receipt in closed},
            messages=tuple(read_messages(rows)),
        )
        self.servers.loaded.saw(loaded)
        self._announcements.get().looked(tag, loaded)
        return loaded

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all (see `Store.commit`).

        What an owner stores on the way waits for no replica: it decides
        nothing, and the owner writes it again if it finds it lost.
        """
        change = self.audit.sealed(key, change, write_id)
        tag = tag_of(key)
        waits = self._client.address.wait > 0 and not is_on_the_way(change, expected)
        self._note_shard(tag, change, expected)
        write = Write.of(key, change, write_id)
        arguments = write.arguments(tag, self._time(), expected, waits=waits)
        run = self._client.run_and_wait if waits else self._client.run
        with self._announcements.get().writing(tag, change, expected):
            reply = await run(COMMIT, self._keys.of(tag), *arguments)
            outcome, time, *rest = reply
            if outcome == "again":
                return Committed(read_record(rest[0], key), float(time))
            if outcome == "refused":
                check_commit(read_head(rest[0]), expected, float(time), change.not_after)
                raise AssertionError("the script refused what the rules allow")
            return write.done(reply)

    def _note_shard(self, tag: str, change: Change, expected: Expected) -> None:
        if (run := change.record.run) is not None:
            self._shards[run.token] = self._keys.shard_of(tag)
            if len(self._shards) > MOST_KNOWN:
                del self._shards[next(iter(self._shards))]
        elif expected.lease is not None:
            self._shards.pop(expected.lease, None)

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """Have leases hold on (see `Store.renew`); like a write on the way, of no replica."""
        shards: dict[tuple[str, str], list[str]] = {}
        for token, key in leases.items():
            tag = tag_of(key)
            shards.setdefault(self._keys.shard_of(tag), []).extend((tag, lease_argument(token)))
        # Asked of some shard also where there are none: the time is told all the same.
        asked = shards or {self._keys.of_shards()[0]: []}
        calls = [(keys, self._time(), seconds, *some) for keys, some in asked.items()]
        replies = await self._client.run_each(RENEW, calls)
        held = frozenset(read_lease(lease) for _, some in replies for lease in some)
        renewed = Renewed(held, max(float(time) for time, _ in replies))
        self._announcements.get().renewed(leases, seconds, renewed)
        return renewed

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """Keep a message as far as it has come (see `Store.keep_words`); of no replica.

        It lies within the record, which every version deletes whole.
        """
        arguments = self._time(), lease_argument(lease), message_text(said)
        return bool(await self._client.run(KEEP_WORDS, self._keys.of(tag_of(key)), *arguments))

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """What is kept of the run that the thread runs (see `Store.words`)."""
        text = await self._client.run(WORDS, self._keys.of(tag_of(key)))
        return None if text is None else read_message(text)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record (see `Store.request_stop`)."""
        tag = tag_of(key)
        try:
            record = await self._client.run(REQUEST_STOP, self._keys.of(tag), tag, stop_text(stop))
        finally:
            # Also after a cancellation or a lost connection: it may have been written.
            self._announcements.get().stop_requested(tag, stop)
        return None if record is None else read_record(record, key)

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens (see `Store.stops`)."""
        shards: dict[tuple[str, str], dict[str, None]] = {}
        for token in tokens:
            # Of a run that this process began the shard is known.
            known = self._shards.get(token)
            for keys in self._keys.of_shards() if known is None else (known,):
                shards.setdefault(keys, {})[quote(token)] = None
        calls = [
            (keys, *list(wanted)[at : at + MOST_ARGUMENTS])
            for keys, wanted in shards.items()
            for at in range(0, len(wanted), MOST_ARGUMENTS)
        ]
        replies = await self._client.run_each(STOPS, calls)
        return [read_stop_member(member) for members in replies for member in members]

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first (see `Store.list_threads`)."""
        # The index counts time backwards, so that equal times come in the order of names.
        after = "-inf" if before is None else f"({-before!r}"
        calls = [
            (keys, self._keys.threads(keys[0], scope, agent), after, limit)
            for keys in self._keys.of_shards()
        ]
        ranges = await self._client.run_each(NEWEST, calls)
        names = [f"{quote(scope)}/{quote(agent)}/{name}" for name in first_of(limit, ranges)]
        rows = await self._client.run_each(
            LIST_ROW, [(self._keys.of(tag), self._time()) for tag in names]
        )
        found = [
            ThreadRow(read_record(row[0], key_of(tag)), messages=row[1], open_interrupts=row[2])
            for tag, row in zip(names, rows, strict=True)
            if row is not None
        ]
        found = [row for row in found if before is None or row.record.updated_at < before]
        return sorted(found, key=lambda row: (-row.record.updated_at, row.record.key.thread))

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first (see `Store.list_interrupts`)."""
        if which.tool is not None and which.waits:
            await self._sort_by_tool(scope)
        index = self._keys.interrupts(scope, which)
        filters = (self._time(), index, *filter_arguments(scope, which))
        behind = ("-inf", "") if after is None else (repr(after[0]), member_of(after))
        asked = [(keys, *behind) for keys in self._keys.of_shards()]
        places: list[Place] = []
        while asked:
            calls = [(keys, *filters, *since, limit) for keys, *since in asked]
            replies = await self._client.run_each(FIND_INTERRUPTS, calls)
            for _, some in replies:
                places += map(place_of, some[::2], some[1::2])
            places.sort()
            # What is raised later than those that are found can't be among the first.
            last = places[limit - 1][0] if 0 < limit <= len(places) else math.inf
            asked = [
                (keys, on, "")
                for (keys, *_), (on, _) in zip(asked, replies, strict=True)
                if on and float(on) <= last and limit > 0
            ]
        wanted: dict[ThreadKey, list[str]] = {}
        for _raised, its_agent, its_thread, _position, id in places[: max(limit, 0)]:
            wanted.setdefault(ThreadKey(scope, its_agent, its_thread), []).append(quote(id))
        replies = await self._client.run_each(
            INTERRUPT_ROWS, [(self._keys.of(tag_of(key)), *ids) for key, ids in wanted.items()]
        )
        found = [
            read_listed(key, row) for key, rows in zip(wanted, replies, strict=True) for row in rows
        ]
        found.sort(key=lambda row: row.place)
        return [row for row in found if which.status in (None, row.interrupt.status)]

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """Count a scope's interrupts (see `Store.count_interrupts`)."""
        if which.tool is not None and which.waits:
            await self._sort_by_tool(scope)
        index = self._keys.interrupts(scope, which)
        filters = (self._time(), index, *filter_arguments(scope, which))
        asked = [(keys, "-inf") for keys in self._keys.of_shards()]
        count, enough = 0, math.inf if most is None else most
        while asked and count < enough:
            calls = [(keys, *filters, since, enough - count) for keys, since in asked]
            replies = await self._client.run_each(COUNT_INTERRUPTS, calls)
            count += sum(counted for _, counted in replies)
            asked = [(keys, on) for (keys, _), (on, _) in zip(asked, replies, strict=True) if on]
        return int(min(count, enough))

    async def _sort_by_tool(self, scope: str) -> None:
        shards = self._keys.of_shards()
        while shards:
            calls = [(keys, self._time(), quote(scope)) for keys in shards]
            more = await self._client.run_each(SORT_BY_TOOL, calls)
            shards = [keys for keys, left in zip(shards, more, strict=True) if left]

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """Messages of a thread in order (see `Store.history`)."""
        bounds = ["" if bound is None else str(bound) for bound in (before, most_bytes)]
        return read_messages(await self._client.run(HISTORY, self._keys.of(tag_of(key)), *bounds))

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """Positions of messages (see `Store.positions`)."""
        keys = self._keys.of(tag_of(key))
        found = await self._client.run(POSITIONS, keys, *map(quote, ids)) if ids else []
        return {id: int(at) for id, at in zip(ids, found, strict=True) if at}

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads whose lease is over, or whose every ask has expired (see `Store.due`)."""
        calls = [(keys, self._time(), limit) for keys in self._keys.of_shards()]
        replies = await self._client.run_each(DUE, calls)
        leases = first_of(limit, [reply[0] for reply in replies])
        leases += first_of(limit - len(leases), [reply[2] for reply in replies])
        expiries = first_of(limit - len(leases), [reply[1] for reply in replies])
        return [
            *(Due(key_of(tag), "lease") for tag in leases),
            *(Due(key_of(tag), "expiry") for tag in expiries),
        ]

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows (see `Store.delete`)."""
        tag = tag_of(key)
        guard = guard_arguments(expected)
        try:
            refusal = await self._client.run(DELETE, self._keys.of(tag), self._time(), tag, *guard)
        finally:
            self._announcements.get().changed(tag)
        if refusal is not None:
            time, head = refusal
            check_commit(read_head(head), expected, float(time))
            raise Conflict("there is no such thread")

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete idle threads that were not touched for long (see `Store.prune`)."""
        now = float(await self._client.run(TIME, self._keys.of_shards()[0], self._time()))
        latest = repr(now - older_than)
        calls = [(keys, latest, limit) for keys in self._keys.of_shards()]
        tags = first_of(limit, await self._client.run_each(IDLE, calls))
        if dry_run:
            return len(tags)
        pruned = 0
        for at in range(0, len(tags), MOST_ARGUMENTS):
            some = tags[at : at + MOST_ARGUMENTS]
            pruned += sum(
                await self._client.run_each(
                    PRUNE, [(self._keys.of(tag), tag, latest) for tag in some]
                )
            )
            for tag in some:
                self._announcements.get().changed(tag)
        return pruned

    async def ping(self) -> float:
        """The store's time, after a write to a key of its own (see `Store.ping`).

        On a cluster to one on each of its servers, since each may refuse.
        """
        shards = self._keys.of_shards()
        if self._client.address.wait:
            return float(await self._client.run_and_wait(PING, shards[0], self._time()))
        asked = await self._client.one_on_each(shards)
        times = await self._client.run_each(PING, [(keys, self._time()) for keys in asked])
        return float(times[0])

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed (see `Store.watch`).

        The owner of a run tells its end to those who said that they wait; polling finds the rest
        within half a second.
        """
        announcements, tag = self._announcements.get(), tag_of(key)
        keys = self._keys.of(tag)
        announcements.start()
        look = announcements.look(tag, lambda: self._client.run(MARK, keys))
        return self._wakeups.watch(tag, look)

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """Yield whenever anybody may have been asked to stop (see `Store.watch_stops`)."""
        self._announcements.get().start()
        return self._wakeups.watch(ANY_STOP)

    async def aclose(self) -> None:
        """Close all connections; the store can't be used afterwards."""
        await self._announcements.aclose()
        await self._client.aclose()

    def _time(self) -> str:
        """The store's time as scripts take it: empty for the server's own."""
        return "" if self._clock is None else repr(self._clock())
