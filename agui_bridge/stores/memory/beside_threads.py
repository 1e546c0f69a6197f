"""What is kept beside threads, in memory: grants and the audit chain, deliveries, servers."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from agui_bridge.frozen import replace
from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import Json, ThreadKey, ThreadStatus
from agui_bridge.stores.codec import decode, decode_grant, encode, encode_grant
from agui_bridge.stores.decisions import Sealer
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.memory.thread import StoredThread
from agui_bridge.stores.servers import (
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
    Written,
)


class MemoryAudit(Sealer):
    """Keeps rows in a dict; see `AuditStore`."""

    def __init__(self, now: Callable[[], float], exists: Callable[[ThreadKey], bool]) -> None:
        """Start empty.

        Args:
            now: gives the store's time.
            exists: tells whether there is a thread.
        """
        self._now = now
        self._exists = exists
        self._rows: dict[ThreadKey, dict[str, AuditRow]] = {}

    def put(self, key: ThreadKey, rows: Iterable[AuditRow]) -> None:
        """Add the rows of a commit."""
        for row in rows:
            self._rows.setdefault(key, {})[row.id] = row

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows (see `AuditStore.threads`)."""
        keys = sorted((key for key in self._rows if scope in (None, key.scope)), key=_sortable)
        return [key for key in keys if after is None or _sortable(key) > _sortable(after)][:limit]

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""
        return [row for _, row in sorted(self._rows.get(key, {}).items())]

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""
        latest = self._now() - older_than
        old = [
            key
            for key, rows in self._rows.items()
            if not self._exists(key) and max(row.written_at for row in rows.values()) <= latest
        ]
        for key in old[:limit]:
            del self._rows[key]
        return len(old[:limit])


def _sortable(key: ThreadKey) -> tuple[str, str, str]:
    return key.scope, key.agent, key.thread


class MemoryGrants:
    """Keeps decisions in a dict; see `GrantStore`."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start empty.

        Args:
            now: gives the store's time.
        """
        self._now = now
        self._grants: dict[tuple[str, str], Grant] = {}

    async def add(self, grant: Grant) -> None:
        """Store a decision (see `GrantStore.add`)."""
        self._grants.setdefault((grant.scope, grant.id), decode_grant(encode_grant(grant)))

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> builtins.list[Grant]:
        """Decisions that stand (see `GrantStore.find`)."""
        now = self._now()
        return [
            grant
            for grant in self._grants.values()
            if (grant.scope, grant.agent) == (scope, agent)
            and grant.tool in tools
            and grant.stands(now)
        ]

    async def use(self, scope: str, id: str) -> bool:
        """Count one use (see `GrantStore.use`)."""
        grant = self._grants.get((scope, id))
        if grant is None or not grant.stands(self._now()):
            return False
        self._grants[scope, id] = replace(grant, uses=grant.uses + 1)
        return True

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision (see `GrantStore.revoke`)."""
        grant = self._grants.get((scope, id))
        if grant is None or grant.revoked_at is not None:
            return False
        self._grants[scope, id] = replace(grant, revoked_at=self._now(), revoked_by=actor)
        return True

    async def list(self, scope: str, limit: int = 200) -> builtins.list[Grant]:
        """A scope's decisions (see `GrantStore.list`)."""
        found = [grant for grant in self._grants.values() if grant.scope == scope]
        return sorted(found, key=lambda grant: (-grant.created_at, grant.id))[:limit]

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have decisions (see `GrantStore.scopes`)."""
        return sorted({grant.scope for grant in self._grants.values()})

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for long (see `GrantStore.prune`)."""
        latest = self._now() - older_than
        over = [name for name, grant in self._grants.items() if grant.was_over(latest)][:limit]
        for name in () if dry_run else over:
            del self._grants[name]
        return len(over)


# --- deliveries in memory, beside the threads that they belong to ---


class MemoryDeliveries:
    """Keeps deliveries in the rows of their threads; no method awaits anything."""

    def __init__(self, threads: Mapping[ThreadKey, StoredThread], now: Callable[[], float]) -> None:
        """Look at a store's threads.

        Args:
            threads: the store's own.
            now: the store's time.
        """
        self._threads = threads
        self._now = now

    async def unannounced(self, limit: int = 100) -> list[Asked]:
        """Questions that nobody has planned for (see `DeliveryStore.unannounced`)."""
        now = self._now()
        found = [
            (thread.raised_at[ask.id], key, ask)
            for key, thread in self._threads.items()
            for ask in thread.interrupts.values()
            if ask.is_open and not ask.expired(now) and ask.id not in thread.announced
        ]
        found.sort(key=lambda row: (row[0], row[1].agent, row[1].thread, row[2].position))
        return [(key, ask.id) for _, key, ask in found[:limit]]

    async def over(self, limit: int = 100) -> list[Asked]:
        """Questions whose end nobody has planned (see `DeliveryStore.over`)."""
        now = self._now()
        found = [
            (key, id)
            for key, thread in self._threads.items()
            for id, over in thread.announced.items()
            if not over
            and (not thread.interrupts[id].is_open or thread.interrupts[id].expired(now))
        ]
        return found[:limit]

    async def plan(
        self, asked: Asked, deliveries: Sequence[Delivery] = (), *, over: bool = False
    ) -> int:
        """Note that a question is planned for (see `DeliveryStore.plan`)."""
        thread = self._threads.get(asked[0])
        if thread is None or asked[1] not in thread.interrupts:
            return 0
        now = self._now()
        thread.announced[asked[1]] = over or thread.announced.get(asked[1], False)
        new = {
            delivery.id: Delivery(
                *(asked[0], delivery.id, asked[1], delivery.channel, delivery.event),
                *(delivery.due_at,),
                created_at=now,
                updated_at=now,
            )
            for delivery in deliveries
            if delivery.id not in thread.deliveries
        }
        thread.deliveries.update(new)
        return len(new)

    async def claim(
        self, channel: str, lease: str, *, lease_seconds: float, limit: int = 10
    ) -> list[Delivery]:
        """Take deliveries that are due (see `DeliveryStore.claim`)."""
        now = self._now()
        due = [
            delivery
            for thread in self._threads.values()
            for delivery in thread.deliveries.values()
            if (delivery.channel, delivery.state) == (channel, "queued") and delivery.due_at <= now
        ]
        due.sort(key=lambda delivery: delivery.due_at)
        claimed = [
            replace(
                delivery,
                lease=lease,
                due_at=now + lease_seconds,
                attempts=delivery.attempts + 1,
                updated_at=now,
            )
            for delivery in due[:limit]
        ]
        for delivery in claimed:
            self._threads[delivery.key].deliveries[delivery.id] = delivery
        return claimed

    async def finish(
        self,
        delivery: Delivery,
        state: DeliveryState,
        *,
        retry_in: float | None = None,
        noted: Mapping[str, Json] | None = None,
        error: str | None = None,
    ) -> bool:
        """Say what became of a claimed delivery (see `DeliveryStore.finish`)."""
        thread = self._threads.get(delivery.key)
        stored = thread.deliveries.get(delivery.id) if thread else None
        if thread is None or stored is None or stored.lease != delivery.lease:
            return False
        now = self._now()
        changes: dict[str, Any] = {"due_at": now + retry_in} if retry_in is not None else {}
        if noted is not None:
            changes["noted"] = decode(encode(dict(noted)))
        thread.deliveries[delivery.id] = replace(
            stored,
            state=state,
            attempts=delivery.attempts,
            lease=None,
            error=error,
            updated_at=now,
            **changes,
        )
        return True

    async def of_question(self, asked: Asked) -> list[Delivery]:
        """The deliveries of a question (see `DeliveryStore.of_question`)."""
        thread = self._threads.get(asked[0])
        rows = thread.deliveries.values() if thread else ()
        found = [delivery for delivery in rows if delivery.interrupt == asked[1]]
        return sorted(found, key=lambda delivery: (delivery.created_at, delivery.id))

    async def list_deliveries(
        self, scope: str, *, state: DeliveryState | None = None, limit: int = 200
    ) -> list[Delivery]:
        """List a scope's deliveries (see `DeliveryStore.list_deliveries`)."""
        found = [
            delivery
            for key, thread in self._threads.items()
            if key.scope == scope
            for delivery in thread.deliveries.values()
            if state in (None, delivery.state)
        ]
        found.sort(key=lambda row: (-row.created_at, row.key.agent, row.key.thread, row.id))
        return found[:limit]

    async def left(
        self,
        scope: str,
        *,
        channel: str | None = None,
        but: Collection[str] = (),
        limit: int = 200,
    ) -> list[Delivery]:
        """Of which something is still to become (see `DeliveryStore.left`)."""
        found = [
            delivery
            for key, thread in self._threads.items()
            if key.scope == scope
            for delivery in thread.deliveries.values()
            if delivery.closed_by is None
            and delivery.channel not in ("", *but)
            and channel in (None, delivery.channel)
            and (
                delivery.state in ("queued", "dead")
                or (delivery.state == "sent" and thread.interrupts[delivery.interrupt].is_open)
            )
        ]
        found.sort(key=lambda row: (row.created_at, row.key.agent, row.key.thread, row.id))
        return found[:limit]

    async def close(self, delivery: Delivery, actor: str) -> bool:
        """Close one that is left (see `DeliveryStore.close`)."""
        thread = self._threads.get(delivery.key)
        stored = thread.deliveries.get(delivery.id) if thread else None
        now = self._now()
        if thread is None or stored != delivery or stored.closed_by is not None:
            return False
        if stored.lease is not None and stored.due_at > now:
            return False
        state: DeliveryState = "sent" if stored.state == "sent" else "dropped"
        thread.deliveries[delivery.id] = replace(
            stored, state=state, lease=None, updated_at=now, closed_by=actor
        )
        return True

    async def scopes(self) -> list[str]:
        """The scopes that have deliveries (see `DeliveryStore.scopes`)."""
        return sorted({key.scope for key, thread in self._threads.items() if thread.deliveries})


# --- the servers that share a store in memory: those of one process ---


class MemoryServers:
    """Keeps servers in a dictionary; see `ServerStore`."""

    def __init__(self, threads: Mapping[ThreadKey, StoredThread], now: Callable[[], float]) -> None:
        """Start empty.

        Args:
            threads: the store's own.
            now: the store's time.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        self._threads = threads
        self._now = now
        self._noted: dict[str, Server] = {}

    async def note(self, server: Server) -> Servers:
        """Note a server (see `ServerStore.note`)."""
        now = self._now()
        known = self._noted.get(server.id)
        since = now if known is None else known.since
        self._noted[server.id] = replace(server, since=since, seen_at=now)
        for id in [id for id, one in self._noted.items() if one.seen_at <= now - KEPT_SECONDS]:
            del self._noted[id]
        return self.loaded.found(now, self._noted.values())

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        records = [
            thread.record
            for thread in self._threads.values()
            if thread.record.status is not ThreadStatus.RUNNING
        ]
        records.sort(key=lambda record: -record.updated_at)
        newest = [Written(one.format, one.updated_at) for one in records[:NEWEST]]
        return self.loaded.found(self._now(), self._noted.values(), newest)

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        self._noted.pop(id, None)
