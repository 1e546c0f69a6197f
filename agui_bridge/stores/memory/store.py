"""The store in memory: the reference implementation, for tests and for trying things out.

Everything is lost with the process, and no other process sees it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from agui_bridge.errors import Conflict
from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
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
    WAITING,
    Head,
    check_commit,
    join_stops,
    lease_holds,
    next_record,
    renewed,
)
from agui_bridge.stores.memory import thread as copies
from agui_bridge.stores.memory.beside_threads import (
    MemoryAudit,
    MemoryDeliveries,
    MemoryGrants,
    MemoryServers,
)
from agui_bridge.stores.memory.thread import StoredThread
from agui_bridge.stores.pages import first_within
from agui_bridge.stores.watching import ANY_STOP, Wakeups


class MemoryStore:
    """Keeps threads in a dict. No method awaits anything, so each is atomic by itself.

    Copies go in and copies come out: nothing that a caller holds can change the store.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Start empty.

        Args:
            clock: gives the store's time, seconds since the epoch.
        """
        self._now = clock
        self._threads: dict[ThreadKey, StoredThread] = {}
        # Asked for before every act of every run: no search through all threads.
        self._stops: dict[str, set[ThreadKey]] = {}
        self._wakeups = Wakeups()
        self.audit: MemoryAudit = MemoryAudit(clock, self._threads.__contains__)
        self.grants: MemoryGrants = MemoryGrants(clock)
        self.deliveries = MemoryDeliveries(self._threads, clock)
        self.servers: MemoryServers = MemoryServers(self._threads, clock)

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
        thread = self._threads.get(key)
        if thread is None:
            return Loaded(None, self._now())
        self._doubt(thread)
        batches = {thread.interrupts[id].batch for id in interrupt_ids if id in thread.interrupts}
        batches |= {ask.batch for ask in thread.batch()}
        closed = batches if receipt is None else {*batches, receipt}
        loaded = Loaded(
            record=copies.copy_thread(thread.record),
            now=self._now(),
            interrupts={
                id: copies.copy_interrupt(ask)
                for id, ask in thread.interrupts.items()
                if ask.batch in batches
            },
            receipts={
                batch: copies.copy_receipt(receipt)
                for batch, receipt in thread.receipts.items()
                if batch in closed
            },
            messages=tuple(
                copies.copy_message(message)
                for message in _in_order(thread)
                if message.id not in thread.superseded
            )
            if messages
            else (),
        )
        self.servers.loaded.saw(loaded)
        return loaded

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change whole, or not at all (see `Store.commit`)."""
        change = self.audit.sealed(key, change, write_id)
        thread, now = self._threads.get(key), self._now()
        if thread is not None and thread.record.write_id == write_id:
            return Committed(copies.copy_thread(thread.record), now)
        head = Head.of(thread.record) if thread is not None else None
        check_commit(head, expected, now, change.not_after)
        # All copies are made before the first write: a value that is not JSON changes nothing.
        made = next_record(key, change, head, write_id, now)
        record = copies.copy_thread(made)
        interrupts = {ask.id: copies.copy_interrupt(ask) for ask in change.interrupts}
        receipts = {receipt.batch: copies.copy_receipt(receipt) for receipt in change.receipts}
        messages = {message.id: copies.copy_message(message) for message in change.messages}

        if thread is None:
            thread = self._threads[key] = StoredThread(record)
        thread.record = record
        thread.interrupts.update(interrupts)
        thread.raised_at = dict.fromkeys(interrupts, now) | thread.raised_at
        thread.receipts.update(receipts)
        thread.messages.update(messages)
        self.audit.put(key, change.audit)
        thread.superseded -= messages.keys()
        thread.superseded |= thread.messages.keys() & set(change.superseded)
        if change.drops_words:
            thread.words = None
        self._wakeups.notify(key)
        # What it shares with the change is the caller's own; with the store it shares nothing.
        return Committed(made, now)

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """Have leases hold on (see `Store.renew`)."""
        now, held = self._now(), set()
        for token, key in leases.items():
            thread = self._threads.get(key)
            if thread is not None and lease_holds(Head.of(thread.record), token, now):
                thread.record = renewed(thread.record, now, seconds)
                held.add(token)
        return Renewed(frozenset(held), now)

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """Keep a message as far as it has come (see `Store.keep_words`)."""
        thread = self._threads.get(key)
        kept = copies.copy_message(said)
        if thread is None or not lease_holds(Head.of(thread.record), lease, self._now()):
            return False
        thread.words = (lease, kept)
        return True

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """What is kept of the run that the thread runs (see `Store.words`)."""
        thread = self._threads.get(key)
        if thread is None or thread.words is None:
            return None
        lease, said = thread.words
        return copies.copy_message(said) if lease == Head.of(thread.record).lease else None

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """Write a stop request beside the record (see `Store.request_stop`)."""
        thread = self._threads.get(key)
        if thread is None:
            return None
        joined = join_stops(Head.of(thread.record), stop)
        self._forget_stop(thread.record)
        self._stops.setdefault(joined.token, set()).add(key)
        thread.record = replace(thread.record, stop=joined)
        self._wakeups.notify(key)
        self._wakeups.notify(ANY_STOP)
        return copies.copy_thread(thread.record)

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """The stop requests for runs with these lease tokens (see `Store.stops`)."""
        if not self._stops:
            # Who polls asks for thousands of runs, and nobody is to stop most of the time.
            return []
        keys = [key for token in dict.fromkeys(tokens) for key in self._stops.get(token, ())]
        return [stop for key in keys if (stop := self._threads[key].record.stop) is not None]

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """List an agent's threads, last touched first (see `Store.list_threads`)."""
        found = [
            thread
            for key, thread in self._threads.items()
            if (key.scope, key.agent) == (scope, agent)
            and (before is None or thread.record.updated_at < before)
        ]
        found.sort(key=lambda thread: (-thread.record.updated_at, thread.record.key.thread))
        now = self._now()
        return [
            ThreadRow(
                copies.copy_thread(thread.record),
                messages=len(thread.messages) - len(thread.superseded),
                open_interrupts=sum(_waits(ask, now) for ask in thread.interrupts.values()),
            )
            for thread in found[:limit]
        ]

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """List a scope's interrupts, oldest first (see `Store.list_interrupts`)."""
        found = [
            row for row in self._interrupts(scope, which) if after is None or row.place > after
        ]
        found.sort(key=lambda row: row.place)
        return [
            replace(row, interrupt=copies.copy_interrupt(row.interrupt)) for row in found[:limit]
        ]

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """Count a scope's interrupts (see `Store.count_interrupts`)."""
        found = self._interrupts(scope, which)
        return sum(1 for _ in islice(found, most))

    def _interrupts(self, scope: str, which: QuestionFilter) -> Iterator[InterruptRow]:
        now = self._now()
        for key, rows in self._threads.items():
            if key.scope != scope or which.agent not in (None, key.agent):
                continue
            if which.thread not in (None, key.thread):
                continue
            for ask in rows.interrupts.values():
                if (
                    which.status in (None, ask.status)
                    and which.tool in (None, *ask.tools)
                    and (not which.waits or _waits(ask, now))
                ):
                    yield InterruptRow(key, ask, rows.raised_at[ask.id])

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """Messages of a thread in order (see `Store.history`)."""
        thread = self._threads.get(key)
        found = _in_order(thread) if thread else []
        if before is not None:
            found = [message for message in found if message.position < before]
        if most_bytes is not None:
            sizes = ((m.id, len(codec.encode(m.message))) for m in reversed(found))
            found = found[-len(first_within(sizes, most_bytes)) :]
        return [copies.copy_message(message) for message in found]

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """Positions of messages (see `Store.positions`)."""
        thread = self._threads.get(key)
        held = thread.messages if thread else {}
        return {id: held[id].position for id in ids if id in held}

    async def due(self, limit: int = 100) -> list[Due]:
        """Threads whose lease is over, or whose every ask has expired (see `Store.due`)."""
        now = self._now()
        found: list[tuple[float, Due]] = []
        for key, thread in self._threads.items():
            status, run = thread.record.status, thread.record.run
            if status is ThreadStatus.RUNNING:
                self._doubt(thread)
                if run is not None and run.term.is_over(now):
                    found.append((run.ends_at, Due(key, "lease")))
            elif (held := Head.of(thread.record).term) is not None and held.is_over(now):
                found.append((held.ends_at, Due(key, "lease")))
            elif status is ThreadStatus.INTERRUPTED and (asks := thread.batch()):
                ends = [ask.expires_at for ask in asks if ask.expires_at is not None]
                waiting = any(ask.status in WAITING for ask in asks)
                if waiting and len(ends) == len(asks) and max(ends) <= now:
                    found.append((max(ends), Due(key, "expiry")))
            elif (look_at := thread.record.look_at) is not None and look_at <= now:
                found.append((look_at, Due(key, "expiry")))
        found.sort(key=lambda item: (item[1].reason != "lease", item[0]))
        return [due for _, due in found[:limit]]

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """Delete a thread with all its rows (see `Store.delete`)."""
        thread = self._threads.get(key)
        check_commit(Head.of(thread.record) if thread else None, expected, self._now())
        if thread is None:
            raise Conflict("there is no such thread")
        self._forget_stop(thread.record)
        del self._threads[key]
        self._wakeups.notify(key)

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete idle threads that were not touched for long (see `Store.prune`)."""
        latest = self._now() - older_than
        old = [
            thread.record
            for thread in self._threads.values()
            if thread.record.status is ThreadStatus.IDLE and thread.record.updated_at <= latest
        ]
        old.sort(key=lambda record: (record.updated_at, *_sortable(record.key)))
        for record in () if dry_run else old[:limit]:
            self._forget_stop(record)
            del self._threads[record.key]
            self._wakeups.notify(record.key)
        return len(old[:limit])

    async def ping(self) -> float:
        """The store's time."""
        return self._now()

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """Yield whenever the thread may have changed (see `Store.watch`)."""
        return self._wakeups.watch(key)

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """Yield whenever anybody was asked to stop (see `Store.watch_stops`)."""
        return self._wakeups.watch(ANY_STOP)

    async def aclose(self) -> None:
        """Nothing to release."""

    def _doubt(self, thread: StoredThread) -> None:
        """Note of a lease that ends too late until when it is waited for (see `LeaseTerm`)."""
        record = thread.record
        term = Head.of(record).term
        until = term.doubt(self._now()) if term is not None else None
        if term is None or until is None:
            return
        if record.run is not None:
            run = replace(record.run, doubted_until=until)
            thread.record = replace(record, run=run)
        elif record.hold is not None:
            hold = replace(record.hold, term=replace(term, doubted_until=until))
            thread.record = replace(record, hold=hold)

    def _forget_stop(self, record: ThreadRecord) -> None:
        if record.stop is not None:
            keys = self._stops[record.stop.token]
            keys.discard(record.key)
            if not keys:
                del self._stops[record.stop.token]


def _in_order(thread: StoredThread) -> list[StoredMessage]:
    return sorted(thread.messages.values(), key=attrgetter("position", "id"))


def _waits(ask: Interrupt, now: float) -> bool:
    return ask.is_open and not ask.expired(now)


def _sortable(key: ThreadKey) -> tuple[str, str, str]:
    return key.scope, key.agent, key.thread
