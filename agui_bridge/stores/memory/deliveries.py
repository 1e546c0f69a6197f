"""Deliveries in memory, beside the threads that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.stores.codec import decode, encode
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.memory.thread import StoredThread

__all__ = ["MemoryDeliveries"]


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
