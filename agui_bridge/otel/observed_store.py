"""Any store with every operation observed: one wrapper instead of a hook in each store."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    StopRequest,
    ThreadKey,
    ThreadRecord,
)
from agui_bridge.stores.base import (
    EVERY_QUESTION,
    AuditStore,
    Change,
    Committed,
    Due,
    Expected,
    InterruptRow,
    Place,
    QuestionFilter,
    Renewed,
    Store,
    ThreadRow,
)
from agui_bridge.stores.decisions import GrantStore
from agui_bridge.stores.deliveries import DeliveryStore
from agui_bridge.stores.servers import ServerStore


class StoreObserver(Protocol):
    """Who is told of a store's operations."""

    def operation(self, name: str) -> AbstractContextManager[object]:
        """An operation takes place inside; what it raises passes through."""
        ...

    def committed(self, key: ThreadKey, change: Change) -> None:
        """A change was taken. Told once, also when it took several tries."""
        ...


class ObservedStore:
    """Passes everything on to a store and tells an observer.

    `watch`, `watch_stops` and `aclose` are not observed: those only wait, this comes last.

    Args:
        store: does the work.
        observer: is told.
    """

    def __init__(self, store: Store, observer: StoreObserver) -> None:
        self.inner = store
        self.audit: AuditStore = store.audit
        self.grants: GrantStore = store.grants
        self.servers: ServerStore = store.servers
        self._observer = observer

    @property
    def process(self) -> str:
        """See `Store.process`."""
        return self.inner.process

    @property
    def deliveries(self) -> DeliveryStore:
        """The store's own: its operations are few, and are not observed."""
        return self.inner.deliveries

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        """See `Store.load`."""
        with self._observer.operation("load"):
            return await self.inner.load(key, interrupt_ids, messages=messages, receipt=receipt)

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """See `Store.commit`."""
        with self._observer.operation("commit"):
            committed = await self.inner.commit(key, change, expected, write_id)
        self._observer.committed(key, change)
        return committed

    async def renew(self, leases: Mapping[str, ThreadKey], seconds: float) -> Renewed:
        """See `Store.renew`."""
        with self._observer.operation("renew"):
            return await self.inner.renew(leases, seconds)

    async def keep_words(self, key: ThreadKey, lease: str, said: StoredMessage) -> bool:
        """See `Store.keep_words`."""
        with self._observer.operation("keep_words"):
            return await self.inner.keep_words(key, lease, said)

    async def words(self, key: ThreadKey) -> StoredMessage | None:
        """See `Store.words`."""
        with self._observer.operation("words"):
            return await self.inner.words(key)

    async def request_stop(self, key: ThreadKey, stop: StopRequest) -> ThreadRecord | None:
        """See `Store.request_stop`."""
        with self._observer.operation("request_stop"):
            return await self.inner.request_stop(key, stop)

    async def stops(self, tokens: Sequence[str]) -> list[StopRequest]:
        """See `Store.stops`."""
        with self._observer.operation("stops"):
            return await self.inner.stops(tokens)

    async def list_threads(
        self, scope: str, agent: str, *, limit: int = 50, before: float | None = None
    ) -> list[ThreadRow]:
        """See `Store.list_threads`."""
        with self._observer.operation("list_threads"):
            return await self.inner.list_threads(scope, agent, limit=limit, before=before)

    async def list_interrupts(
        self,
        scope: str,
        which: QuestionFilter = EVERY_QUESTION,
        *,
        after: Place | None = None,
        limit: int = 200,
    ) -> list[InterruptRow]:
        """See `Store.list_interrupts`."""
        with self._observer.operation("list_interrupts"):
            return await self.inner.list_interrupts(scope, which, after=after, limit=limit)

    async def count_interrupts(
        self, scope: str, which: QuestionFilter = EVERY_QUESTION, *, most: int | None = None
    ) -> int:
        """See `Store.count_interrupts`."""
        with self._observer.operation("count_interrupts"):
            return await self.inner.count_interrupts(scope, which, most=most)

    async def history(
        self, key: ThreadKey, *, before: int | None = None, most_bytes: int | None = None
    ) -> list[StoredMessage]:
        """See `Store.history`."""
        with self._observer.operation("history"):
            return await self.inner.history(key, before=before, most_bytes=most_bytes)

    async def positions(self, key: ThreadKey, ids: Sequence[str]) -> dict[str, int]:
        """See `Store.positions`."""
        with self._observer.operation("positions"):
            return await self.inner.positions(key, ids)

    async def due(self, limit: int = 100) -> list[Due]:
        """See `Store.due`."""
        with self._observer.operation("due"):
            return await self.inner.due(limit)

    async def delete(self, key: ThreadKey, expected: Expected) -> None:
        """See `Store.delete`."""
        with self._observer.operation("delete"):
            await self.inner.delete(key, expected)

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """See `Store.prune`."""
        with self._observer.operation("prune"):
            return await self.inner.prune(older_than, limit, dry_run=dry_run)

    async def ping(self) -> float:
        """See `Store.ping`."""
        with self._observer.operation("ping"):
            return await self.inner.ping()

    def watch(self, key: ThreadKey) -> AsyncGenerator[None, None]:
        """See `Store.watch`."""
        return self.inner.watch(key)

    def watch_stops(self) -> AsyncGenerator[None, None]:
        """See `Store.watch_stops`."""
        return self.inner.watch_stops()

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await self.inner.aclose()
