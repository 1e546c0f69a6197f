"""The servers that share a Redis: a hash in the first shard, each under its id.

A row is "since seen" and JSON below it.
"""

from __future__ import annotations

from collections.abc import Callable

from agui_bridge.stores import codec
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.keys import Keys, quote, unquote
from agui_bridge.stores.redis.scripts.lua import NOW, Script
from agui_bridge.stores.servers import (
    BEGINNING,
    KEPT_SECONDS,
    NEWEST,
    LoadedFormats,
    Server,
    Servers,
    Written,
)

__all__ = ["RedisServers"]

_NOTE = Script(
    NOW
    + """
local servers, time = KEYS[1] .. ':servers', now(ARGV[1])
local rows = call('HGETALL', servers)
local since = time
for n = 1, #rows, 2 do
  local first, seen = string.match(rows[n + 1], '^(%S+) (%S+)\\n')
  if rows[n] == ARGV[2] then
    since = first or time
  elseif not seen or tonumber(seen) <= tonumber(time) - tonumber(ARGV[4]) then
    call('HDEL', servers, rows[n])
  end
end
call('HSET', servers, ARGV[2], since .. ' ' .. time .. '\\n' .. ARGV[3])
return time
"""
)
"""KEYS: a shard's base. ARGV: the clock, the id, the JSON, for how many seconds one is kept."""

_NOTED = Script(
    NOW
    + """
return {now(ARGV[1]), call('HGETALL', KEYS[1] .. ':servers')}
"""
)
"""KEYS: a shard's base. ARGV: the clock. Gives the time, and ids and rows in turns."""

_WRITTEN = Script(
    """
local call, base, found = redis.call, KEYS[1], {}
local function look(tag)
  local thread = base .. ':t:' .. tag
  local updated = call('HGET', thread, 'updated')
  local data = call('HGET', thread, 'data')
  if updated and data then
    found[#found + 1] = updated
    found[#found + 1] = string.sub(data, 1, tonumber(ARGV[2]))
  end
end
for _, tag in ipairs(call('ZREVRANGE', base .. ':idle', 0, ARGV[1] - 1)) do look(tag) end
for _, name in ipairs(call('ZREVRANGE', base .. ':asks-new', 0, ARGV[1] - 1)) do
  look(string.match(name, '^%S+'))
end
return found
"""
)
"""KEYS: a shard's base. ARGV: how many of each kind, how many characters. Gives times and the
beginnings of records in turns."""


class RedisServers:
    """Keeps servers on a server or a cluster; see `ServerStore`."""

    def __init__(self, client: Client, keys: Keys, time: Callable[[], str]) -> None:
        """Keep them through connections, which stay their store's.

        Args:
            client: the connections.
            keys: the layout.
            time: the store's time as scripts take it.
        """
        self.loaded: LoadedFormats = LoadedFormats()
        self._client = client
        self._keys = keys
        self._time = time

    async def note(self, server: Server) -> None:
        """Note a server (see `ServerStore.note`)."""
        row = codec.encode([server.version, server.format, list(server.channels)])
        arguments = (self._time(), quote(server.id), row, repr(KEPT_SECONDS))
        await self._client.run(_NOTE, self._keys.of_shards()[0], *arguments)

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        shards = self._keys.of_shards()
        now, rows = await self._client.run(_NOTED, shards[0], self._time())
        noted = tuple(_read(*row) for row in zip(rows[::2], rows[1::2], strict=True))
        found = await self._client.run_each(
            _WRITTEN, [(keys, str(NEWEST), str(BEGINNING)) for keys in shards]
        )
        written = tuple(
            Written(codec.format_of(beginning), float(at))
            for reply in found
            for at, beginning in zip(reply[::2], reply[1::2], strict=True)
        )
        return Servers(float(now), noted, (*written, *self.loaded.written))

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        await self._client.run(_FORGET, self._keys.of_shards()[0], quote(id))


_FORGET = Script("return redis.call('HDEL', KEYS[1] .. ':servers', ARGV[1])")
"""KEYS: a shard's base. ARGV: the id."""


def _read(id: str, row: str) -> Server:
    times, _, text = row.partition("\n")
    since, seen = times.split(" ")
    version, format, channels = codec.decode(text)
    return Server(unquote(id), version, format, tuple(channels), float(since), float(seen))
