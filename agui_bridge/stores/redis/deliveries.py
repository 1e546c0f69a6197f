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
from agui_bridge.stores.redis.rows import Keys, first_of, key_of, quote, tag_of, unquote
from agui_bridge.stores.redis.scripts.lua import DELIVERIES, NOW, THREAD, Script

# --- the scripts about deliveries: each happens whole or not at all, by the clock of Redis ---

UNANNOUNCED = Script(
    NOW
    + """
local base, time, limit = KEYS[1], tonumber(now(ARGV[1])), tonumber(ARGV[2])
local found, at = {}, 0
while #found < 2 * limit do
  local some = call('ZRANGE', base .. ':asks-new', at, at + 199, 'WITHSCORES')
  if #some == 0 then break end
  at = at + 200
  for n = 1, #some, 2 do
    local tag, id = string.match(some[n], '^(%S+) (%S*)$')
    local row = call('HGET', base .. ':t:' .. tag .. ':i', id)
    local expires = row and string.match(row, '^%S+ %S* %S+ %S+ (%S+)\\n')
    if expires and tonumber(expires) > time and #found < 2 * limit then
      found[#found + 1] = some[n]
      found[#found + 1] = some[n + 1]
    end
  end
end
return found
"""
)
"""KEYS: a shard's base. ARGV: the clock, the limit. Gives names and times in turns."""

OVER = Script(
    NOW
    + """
local function some(name, latest)
  return call('ZRANGEBYSCORE', KEYS[1] .. name, '-inf', latest, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
end
return {some(':asks-over', '+inf'), some(':asks-told', now(ARGV[1]))}
"""
)
"""KEYS: a shard's base. ARGV: the clock, the limit. Gives names and times of those that were
closed, and of those whose time is over."""

PLAN = Script(
    THREAD
    + DELIVERIES
    + """
local time, tag, interrupt, over = now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local row = call('HGET', T .. ':i', interrupt)
if not row then return 0 end
local raised, _, _, status, expires = parse(row)
local name, new = tag .. ' ' .. interrupt, 0
forget(name)
if over ~= '' then
  call('HSET', T .. ':e', interrupt, 1)
elseif call('HEXISTS', T .. ':e', interrupt) == 0 then
  if status == 'open' then
    call('ZADD', P .. ':asks-told', expires, name)
  else
    call('ZADD', P .. ':asks-over', time, name)
  end
end
for n = 5, #ARGV, 4 do
  local id, channel, event, due = ARGV[n], ARGV[n + 1], ARGV[n + 2], ARGV[n + 3]
  local words = {interrupt, channel, event, 'queued', due, 0, '-', time, time}
  if call('HSETNX', T .. ':d', id, table.concat(words, ' ') .. '\\n[null,null]') == 1 then
    index_delivery(tag, id, nil, 'queued', channel, due, time)
    new = new + 1
  end
end
return new
"""
)
"""ARGV: the clock, the tag, the interrupt, whether it is its end, and of each delivery its id,
channel, event and time. Gives how many are new."""

DUE = Script(
    NOW
    + """
return call('ZRANGEBYSCORE', KEYS[1] .. ':due:' .. ARGV[3], '-inf', now(ARGV[1]), 'WITHSCORES',
            'LIMIT', 0, ARGV[2])
"""
)
"""KEYS: a shard's base. ARGV: the clock, the limit, the channel. Gives names and times."""

CLAIM = Script(
    THREAD
    + DELIVERIES
    + """
local time, tag, lease, seconds = now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local ends = string.format('%.17g', tonumber(time) + tonumber(seconds))
local found = {}
for n = 5, #ARGV do
  local id = ARGV[n]
  local row = call('HGET', T .. ':d', id)
  if row then
    local ask, channel, event, state, due, attempts, _, created, _, json = parse_delivery(row)
    if state == 'queued' and tonumber(due) <= tonumber(time) then
      local words = {ask, channel, event, state, ends, attempts + 1, lease, created, time}
      row = table.concat(words, ' ') .. '\\n' .. json
      call('HSET', T .. ':d', id, row)
      index_delivery(tag, id, state, state, channel, ends, created)
      found[#found + 1] = id
      found[#found + 1] = row
    end
  end
end
return found
""",
    repeatable=False,
)
"""ARGV: the clock, the tag, the lease, its seconds, ids. Gives ids and rows in turns."""

FINISH = Script(
    THREAD
    + DELIVERIES
    + """
local time, tag, id, lease = now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local state, attempts, seconds, new_json = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local row = call('HGET', T .. ':d', id)
if not row then return 0 end
local ask, channel, event, old, due, _, its, created = parse_delivery(row)
if its ~= lease then return 0 end
if seconds ~= '' then due = string.format('%.17g', tonumber(time) + tonumber(seconds)) end
local words = {ask, channel, event, state, due, attempts, '-', created, time}
call('HSET', T .. ':d', id, table.concat(words, ' ') .. '\\n' .. new_json)
index_delivery(tag, id, old, state, channel, due, created)
return 1
"""
)
"""ARGV: the clock, the tag, the id, the lease, the state, the attempts, seconds or
nothing, the JSON.

Gives whether the lease held."""

CLOSE = Script(
    THREAD
    + DELIVERIES
    + """
local time, tag, id = now(ARGV[1]), ARGV[2], ARGV[3]
local row = call('HGET', T .. ':d', id)
if not row then return 0 end
local ask, channel, event, old, due, attempts, lease, created, _, json = parse_delivery(row)
if old ~= ARGV[4] or attempts ~= ARGV[5] or lease ~= ARGV[6] then return 0 end
if string.find(json, ARGV[8], 1, true) then return 0 end
if lease ~= '-' and tonumber(due) > tonumber(time) then return 0 end
local state = old == 'sent' and 'sent' or 'dropped'
local words = {ask, channel, event, state, due, attempts, '-', created, time}
call('HSET', T .. ':d', id, table.concat(words, ' ') .. '\\n' .. ARGV[7])
index_delivery(tag, id, old, state, channel, due, created)
return 1
""",
    repeatable=False,
)
"""ARGV: the clock, the tag, the id, the state, attempts and lease that it must have, the new JSON,
what is in the JSON of one that is closed.

Gives whether it was closed."""

LEFT = Script(
    """
local call, base, scope, channel = redis.call, KEYS[1], ARGV[1], ARGV[2]
local but, found = {}, {}
for n = 3, #ARGV do but[ARGV[n]] = true end

local function look(tag, id, row, wanted)
  local _, its, _, state = string.match(row, '^(%S+) (%S*) (%S+) (%S+)')
  if state == wanted and its ~= '' and not but[its] and (channel == '' or channel == its) then
    found[#found + 1] = tag .. ' ' .. id .. ' ' .. row
  end
end

for _, state in ipairs({'queued', 'dead'}) do
  for _, name in ipairs(call('ZRANGE', base .. ':deliveries:' .. scope .. ':' .. state, 0, -1)) do
    local tag, id = string.match(name, '^(%S+) (%S+)$')
    local row = call('HGET', base .. ':t:' .. tag .. ':d', id)
    if row then look(tag, id, row, state) end
  end
end
local threads = {}
for _, name in ipairs(call('ZRANGE', base .. ':asks:' .. scope .. ':open', 0, -1)) do
  local agent, thread = string.match(name, '^(%S*) (%S*) ')
  threads[scope .. '/' .. agent .. '/' .. thread] = true
end
for tag in pairs(threads) do
  local rows = call('HGETALL', base .. ':t:' .. tag .. ':d')
  for n = 1, #rows, 2 do
    local ask = call('HGET', base .. ':t:' .. tag .. ':i', string.match(rows[n + 1], '^%S+'))
    if ask and string.match(ask, '^%S+ %S* %S+ (%S+)') == 'open' then
      look(tag, rows[n], rows[n + 1], 'sent')
    end
  end
end
return found
"""
)
"""KEYS: a shard's base. ARGV: the scope, a channel or nothing, channels that are left out. Gives
"tag id row" of what is queued or dead, or sent about a question that is open."""

ROWS = Script("return redis.call('HGETALL', KEYS[1] .. ':d')")
"""Gives ids and rows in turns."""

SCOPES = Script("return redis.call('ZRANGE', KEYS[1] .. ':deliveries', 0, -1)")
"""KEYS: a shard's base. Gives the names of its scopes that have deliveries."""

LIST = Script(
    """
local found = {}
local some = redis.call('ZRANGE', KEYS[1] .. ARGV[1], 0, tonumber(ARGV[2]) - 1, 'WITHSCORES')
for n = 1, #some, 2 do
  local tag, id = string.match(some[n], '^(%S+) (%S+)$')
  local row = redis.call('HGET', KEYS[1] .. ':t:' .. tag .. ':d', id)
  if row then
    found[#found + 1] = some[n] .. ' ' .. row
    found[#found + 1] = some[n + 1]
  end
end
return found
"""
)
"""KEYS: a shard's base. ARGV: the index after the base, the limit. Gives "tag id row" and times
in turns."""


# --- the store's side ---

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
