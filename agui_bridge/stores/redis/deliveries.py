"""Deliveries in Redis: in their thread's hash slot, with indexes in each shard.

What is due is found in two steps, first names and then claims, which leave out what somebody else
has claimed in between.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, get_args

from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.stores import codec
from agui_bridge.stores.deliveries import Asked, Delivery, DeliveryState
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.keys import Keys, key_of, quote, tag_of, unquote
from agui_bridge.stores.redis.rows import first_of
from agui_bridge.stores.redis.scripts.deliveries import (
    CLAIM,
    CLOSE,
    DUE,
    FINISH,
    LEFT,
    LIST,
    OVER,
    PLAN,
    ROWS,
    SCOPES,
    UNANNOUNCED,
)

__all__ = ["RedisDeliveries"]

_CLOSED_BY: Final = "agui_bridge.closed_by"
"""Among what is noted, since an earlier version takes a row of these words alone."""

_STATES: Final[Mapping[str, DeliveryState]] = {state: state for state in get_args(DeliveryState)}


class RedisDeliveries:
    """Keeps deliveries in a store's Redis."""

    def __init__(self, client: Client, keys: Keys, time: Callable[[], str]) -> None:
        """Use a store's connections, which close with the store.

        Args:
            client: the store's.
            keys: the layout.
            time: the store's time as scripts take it.
        """
        self._client = client
        self._keys = keys
        self._time = time

    async def unannounced(self, limit: int = 100) -> list[Asked]:
        """Questions that nobody has planned for (see `DeliveryStore.unannounced`)."""
        calls = [(keys, self._time(), limit) for keys in self._keys.of_shards()]
        found = await self._client.run_each(UNANNOUNCED, calls)
        return [_asked(name) for name in first_of(limit, found)]

    async def over(self, limit: int = 100) -> list[Asked]:
        """Questions whose end nobody has planned (see `DeliveryStore.over`)."""
        calls = [(keys, self._time(), limit) for keys in self._keys.of_shards()]
        found = [some for pair in await self._client.run_each(OVER, calls) for some in pair]
        return [_asked(name) for name in first_of(limit, found)]

    async def plan(
        self, asked: Asked, deliveries: Sequence[Delivery] = (), *, over: bool = False
    ) -> int:
        """Note that a question is planned for (see `DeliveryStore.plan`)."""
        tag = tag_of(asked[0])
        arguments = [self._time(), tag, quote(asked[1]), "1" if over else ""]
        for one in deliveries:
            arguments += (quote(one.id), quote(one.channel), one.event, repr(one.due_at))
        return int(await self._client.run(PLAN, self._keys.of(tag), *arguments))

    async def claim(
        self, channel: str, lease: str, *, lease_seconds: float, limit: int = 10
    ) -> list[Delivery]:
        """Take deliveries that are due (see `DeliveryStore.claim`)."""
        calls = [(keys, self._time(), limit, quote(channel)) for keys in self._keys.of_shards()]
        wanted: dict[str, list[str]] = {}
        for name in first_of(limit, await self._client.run_each(DUE, calls)):
            tag, id = name.split(" ")
            wanted.setdefault(tag, []).append(id)
        claims = [
            (self._keys.of(tag), self._time(), tag, quote(lease), repr(lease_seconds), *ids)
            for tag, ids in wanted.items()
        ]
        replies = await self._client.run_each(CLAIM, claims) if claims else []
        claimed = [
            _delivery(tag, id, row)
            for tag, reply in zip(wanted, replies, strict=True)
            for id, row in zip(reply[::2], reply[1::2], strict=True)
        ]
        return sorted(claimed, key=lambda one: (one.created_at, one.id))

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
        tag = tag_of(delivery.key)
        kept = delivery.noted if noted is None else noted
        held = await self._client.run(
            FINISH,
            self._keys.of(tag),
            self._time(),
            tag,
            quote(delivery.id),
            quote(delivery.lease or ""),
            state,
            delivery.attempts,
            "" if retry_in is None else repr(retry_in),
            codec.encode([None if kept is None else dict(kept), error]),
        )
        return bool(held)

    async def of_question(self, asked: Asked) -> list[Delivery]:
        """The deliveries of a question (see `DeliveryStore.of_question`)."""
        tag = tag_of(asked[0])
        reply = await self._client.run(ROWS, self._keys.of(tag))
        rows = zip(reply[::2], reply[1::2], strict=True)
        found = [_delivery(tag, id, row) for id, row in rows]
        mine = [one for one in found if one.interrupt == asked[1]]
        return sorted(mine, key=lambda one: (one.created_at, one.id))

    async def list_deliveries(
        self, scope: str, *, state: DeliveryState | None = None, limit: int = 200
    ) -> list[Delivery]:
        """List a scope's deliveries (see `DeliveryStore.list_deliveries`)."""
        index = f":deliveries:{quote(scope)}" + ("" if state is None else f":{state}")
        calls = [(keys, index, limit) for keys in self._keys.of_shards()]
        found = first_of(limit, await self._client.run_each(LIST, calls))
        rows = [_delivery(*item.split(" ", 2)) for item in found]
        return sorted(
            rows, key=lambda row: (-row.created_at, row.key.agent, row.key.thread, row.id)
        )

    async def left(
        self,
        scope: str,
        *,
        channel: str | None = None,
        but: Collection[str] = (),
        limit: int = 200,
    ) -> list[Delivery]:
        """Of which something is still to become (see `DeliveryStore.left`)."""
        wanted = (quote(scope), quote(channel or ""), *map(quote, but))
        replies = await self._client.run_each(
            LEFT, [(keys, *wanted) for keys in self._keys.of_shards()]
        )
        found = [_delivery(*item.split(" ", 2)) for reply in replies for item in reply]
        rows = [one for one in found if one.closed_by is None]
        rows.sort(key=lambda row: (row.created_at, row.key.agent, row.key.thread, row.id))
        return rows[:limit]

    async def close(self, delivery: Delivery, actor: str) -> bool:
        """Close one that is left (see `DeliveryStore.close`)."""
        tag = tag_of(delivery.key)
        noted = {**(delivery.noted or {}), _CLOSED_BY: actor}
        done = await self._client.run(
            CLOSE,
            self._keys.of(tag),
            self._time(),
            tag,
            quote(delivery.id),
            delivery.state,
            delivery.attempts,
            "-" if delivery.lease is None else quote(delivery.lease),
            codec.encode([noted, delivery.error]),
            f'"{_CLOSED_BY}":',
        )
        return bool(done)

    async def scopes(self) -> list[str]:
        """The scopes that have deliveries (see `DeliveryStore.scopes`)."""
        calls = [(keys,) for keys in self._keys.of_shards()]
        found = await self._client.run_each(SCOPES, calls)
        return sorted({unquote(name) for names in found for name in names})


def _asked(name: str) -> tuple[ThreadKey, str]:
    tag, id = name.split(" ")
    return key_of(tag), unquote(id)


def _delivery(tag: str, id: str, row: str) -> Delivery:
    """A delivery, from its row (see `lua`)."""
    words, _, data = row.partition("\n")
    ask, channel, event, state, due, attempts, lease, created, updated = words.split(" ")
    noted, error = codec.decode(data)
    closed_by = noted.pop(_CLOSED_BY, None) if noted else None
    return Delivery(
        key_of(tag),
        unquote(id),
        unquote(ask),
        unquote(channel),
        event,
        float(due),
        _STATES[state],
        int(attempts),
        None if lease == "-" else unquote(lease),
        noted or None if closed_by else noted,
        error,
        float(created),
        float(updated),
        closed_by,
    )
