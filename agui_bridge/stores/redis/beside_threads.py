"""What is kept beside threads, in Redis: grants and the audit chain, servers."""

from __future__ import annotations

import builtins
import zlib
from collections.abc import Callable, Collection, Sequence
from heapq import merge
from itertools import islice

from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.record_parts import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores import codec
from agui_bridge.stores.codec import decode_grant, encode_grant
from agui_bridge.stores.decisions import Sealer
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.rows import Keys, key_of, quote, tag_of, unquote
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

_THREADS = Script(
    """
local from = ARGV[1] == '' and '-' or ARGV[1]
local till = ARGV[2] == '' and '+' or ARGV[2]
return redis.call('ZRANGEBYLEX', KEYS[1] .. ':audit', from, till, 'LIMIT', 0, ARGV[3])
"""
)
"""ARGV: both ends of the names, as ZRANGEBYLEX takes them or empty; how many."""

_ROWS = Script("return redis.call('HGETALL', KEYS[1] .. ':a')")
"""Gives ids and rows in turns."""

_PRUNE = Script(
    NOW
    + """
local T, P, tag = KEYS[1], KEYS[2], ARGV[2]
if call('EXISTS', T) == 1 then return 0 end
local latest = tonumber(now(ARGV[1])) - tonumber(ARGV[3])
for _, row in ipairs(call('HVALS', T .. ':a')) do
  if tonumber(string.match(row, '^(%S+) ')) > latest then return 0 end
end
call('UNLINK', T .. ':a')
call('ZREM', P .. ':audit', tag)
return 1
"""
)
"""ARGV: the clock, the tag, the age in seconds. Gives how many threads' rows it deleted."""


class RedisAudit(Sealer):
    """Reads rows from a server or a cluster; see `AuditStore`."""

    def __init__(self, client: Client, keys: Keys, time: Callable[[], str]) -> None:
        """Read through connections, which stay their store's.

        Args:
            client: the connections.
            keys: the layout.
            time: the store's time as scripts take it.
        """
        self._client = client
        self._keys = keys
        self._time = time

    async def threads(
        self, *, scope: str | None = None, after: ThreadKey | None = None, limit: int = 500
    ) -> list[ThreadKey]:
        """Threads that have rows (see `AuditStore.threads`)."""
        return [key_of(tag) for tag in await self._tags(scope, after, limit)]

    async def rows(self, key: ThreadKey) -> list[AuditRow]:
        """The rows of a thread (see `AuditStore.rows`)."""
        found = await self._client.run(_ROWS, self._keys.of(tag_of(key)))
        rows = []
        for id, text in sorted(zip(found[::2], found[1::2], strict=True)):
            written_at, _, data = text.partition(" ")
            rows.append(AuditRow(unquote(id), float(written_at), data))
        return rows

    async def prune(self, older_than: float, limit: int = 1000) -> int:
        """Delete the rows of threads that are gone (see `AuditStore.prune`)."""
        pruned, after = 0, None
        while pruned < limit and (tags := await self._tags(None, after, 500)):
            calls = [(self._keys.of(tag), self._time(), tag, repr(older_than)) for tag in tags]
            for call in calls:
                if pruned < limit:
                    pruned += (await self._client.run_each(_PRUNE, [call]))[0]
            after = key_of(tags[-1])
        return pruned

    async def _tags(self, scope: str | None, after: ThreadKey | None, limit: int) -> list[str]:
        first = "" if scope is None else f"[{quote(scope)}/"
        # No tag has a character as great as "~" behind a slash but "~" itself.
        last = "" if scope is None else f"[{quote(scope)}/\x7f"
        if after is not None:
            first = f"({tag_of(after)}"
        calls = [((base, f"{base}:audit"), first, last, str(limit)) for base in self._keys.bases()]
        return list(islice(merge(*await self._client.run_each(_THREADS, calls)), limit))


_ADD = Script(
    """
redis.call('ZADD', KEYS[2] .. ':grants', 0, ARGV[3])
return redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
"""
)
"""ARGV: id, row, the scope's name."""

_LIST = Script(
    NOW
    + """
local found = {}
local rows = call('HGETALL', KEYS[1])
for n = 1, #rows, 2 do
  found[#found + 1] = {rows[n + 1], call('HGET', KEYS[1] .. ':u', rows[n]) or '0',
                       call('HGET', KEYS[1] .. ':r', rows[n]) or ''}
end
return {now(ARGV[1]), found}
"""
)
"""ARGV: the clock. Gives the time, and each row with its uses and its end."""

_USE = Script(
    NOW
    + """
local row = call('HGET', KEYS[1], ARGV[2])
if not row or call('HEXISTS', KEYS[1] .. ':r', ARGV[2]) == 1 then return 0 end
local expires, most = string.match(row, '^(%S+) (%S+) ')
if tonumber(expires) <= tonumber(now(ARGV[1])) then return 0 end
local uses = tonumber(call('HGET', KEYS[1] .. ':u', ARGV[2]) or '0')
if most ~= '-' and uses >= tonumber(most) then return 0 end
call('HINCRBY', KEYS[1] .. ':u', ARGV[2], 1)
return 1
""",
    repeatable=False,
)
"""ARGV: the clock, the id. Tells whether it stood."""

_REVOKE = Script(
    NOW
    + """
if call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
return call('HSETNX', KEYS[1] .. ':r', ARGV[2], now(ARGV[1]) .. ' ' .. ARGV[3])
"""
)
"""ARGV: the clock, the id, the actor. Tells whether it was there and not revoked before."""

_SCOPES = Script("return redis.call('ZRANGE', KEYS[1] .. ':grants', 0, -1)")

_PRUNE_GRANTS = Script(
    NOW
    + """
local G, latest, pruned = KEYS[1], tonumber(now(ARGV[1])) - tonumber(ARGV[2]), 0
local rows = call('HGETALL', G)
for n = 1, #rows, 2 do
  if pruned >= tonumber(ARGV[3]) then break end
  local id = rows[n]
  local expires, most, made = string.match(rows[n + 1], '^(%S+) (%S+) (%S+) ')
  local revoked = string.match(call('HGET', G .. ':r', id) or '', '^%S+')
  local uses = tonumber(call('HGET', G .. ':u', id) or '0')
  if tonumber(expires) <= latest or (revoked and tonumber(revoked) <= latest)
      or (most ~= '-' and uses >= tonumber(most) and tonumber(made) <= latest) then
    pruned = pruned + 1
    if ARGV[4] == '' then
      for _, part in ipairs({'', ':u', ':r'}) do call('HDEL', G .. part, id) end
    end
  end
end
if call('EXISTS', G) == 0 then call('ZREM', KEYS[2] .. ':grants', ARGV[5]) end
return pruned
"""
)
"""ARGV: the clock, the age in seconds, how many at most, whether only to count, the scope."""


class RedisGrants:
    """Keeps decisions on a server or a cluster; see `GrantStore`."""

    def __init__(self, client: Client, keys: Keys, time: Callable[[], str]) -> None:
        """Keep them through connections, which stay their store's.

        Args:
            client: the connections.
            keys: the layout.
            time: the store's time as scripts take it.
        """
        self._client = client
        self._keys = keys
        self._time = time

    async def add(self, grant: Grant) -> None:
        """Store a decision (see `GrantStore.add`)."""
        most = "-" if grant.max_uses is None else str(grant.max_uses)
        row = f"{grant.expires_at!r} {most} {grant.created_at!r} {encode_grant(grant)}"
        arguments = (quote(grant.id), row, quote(grant.scope))
        await self._client.run(_ADD, self._of(grant.scope), *arguments)

    async def find(self, scope: str, agent: str, tools: Collection[str]) -> builtins.list[Grant]:
        """Decisions that stand (see `GrantStore.find`)."""
        now, grants = await self._all(scope)
        return [
            grant
            for grant in grants
            if grant.agent == agent and grant.tool in tools and grant.stands(now)
        ]

    async def use(self, scope: str, id: str) -> bool:
        """Count one use (see `GrantStore.use`)."""
        return bool(await self._client.run(_USE, self._of(scope), self._time(), quote(id)))

    async def revoke(self, scope: str, id: str, actor: str) -> bool:
        """End a decision (see `GrantStore.revoke`)."""
        arguments = (self._time(), quote(id), quote(actor))
        return bool(await self._client.run(_REVOKE, self._of(scope), *arguments))

    async def list(self, scope: str, limit: int = 200) -> builtins.list[Grant]:
        """A scope's decisions (see `GrantStore.list`)."""
        _, grants = await self._all(scope)
        return sorted(grants, key=lambda grant: (-grant.created_at, grant.id))[:limit]

    async def scopes(self) -> builtins.list[str]:
        """The scopes that have decisions (see `GrantStore.scopes`)."""
        calls = [((base, f"{base}:grants"),) for base in self._keys.bases()]
        found = await self._client.run_each(_SCOPES, calls)
        return sorted(unquote(name) for names in found for name in names)

    async def prune(self, older_than: float, limit: int = 1000, *, dry_run: bool = False) -> int:
        """Delete decisions that are over for long (see `GrantStore.prune`)."""
        calls = [((base, f"{base}:grants"),) for base in self._keys.bases()]
        pruned, only_count = 0, "1" if dry_run else ""
        for names in await self._client.run_each(_SCOPES, calls):
            for name in names:
                rest = str(limit - pruned)
                arguments = (self._time(), repr(older_than), rest, only_count, name)
                pruned += await self._client.run(_PRUNE_GRANTS, self._of(unquote(name)), *arguments)
        return pruned

    async def _all(self, scope: str) -> tuple[float, builtins.list[Grant]]:
        now, rows = await self._client.run(_LIST, self._of(scope), self._time())
        return float(now), [_read(*row) for row in rows]

    def _of(self, scope: str) -> tuple[str, str]:
        name = quote(scope)
        base = self._keys.base(zlib.crc32(name.encode("ascii")) % self._keys.shards)
        return f"{base}:grants:{name}", base


def _read(row: str, uses: str, end: str) -> Grant:
    _expires, _most, _made, data = row.split(" ", 3)
    at, _, actor = end.partition(" ")
    return decode_grant(
        data, int(uses), float(at) if end else None, unquote(actor) if end else None
    )


# --- the servers that share a Redis: a hash in the first shard, each under its id ---
#
# A row is "since seen" and JSON below it.

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
return {time, call('HGETALL', servers)}
"""
)
"""KEYS: a shard's base. ARGV: the clock, the id, the JSON, for how many seconds one is kept. Gives
the time, and ids and rows in turns."""

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

    async def note(self, server: Server) -> Servers:
        """Note a server (see `ServerStore.note`)."""
        row = codec.encode([server.version, server.format, list(server.channels)])
        arguments = (self._time(), quote(server.id), row, repr(KEPT_SECONDS))
        now, rows = await self._client.run(_NOTE, self._keys.of_shards()[0], *arguments)
        return self.loaded.found(float(now), _read_all(rows))

    async def look(self) -> Servers:
        """Who works on the store (see `ServerStore.look`)."""
        shards = self._keys.of_shards()
        now, rows = await self._client.run(_NOTED, shards[0], self._time())
        found = await self._client.run_each(
            _WRITTEN, [(keys, str(NEWEST), str(BEGINNING)) for keys in shards]
        )
        written = [
            Written(codec.format_of(beginning), float(at))
            for reply in found
            for at, beginning in zip(reply[::2], reply[1::2], strict=True)
        ]
        return self.loaded.found(float(now), _read_all(rows), written)

    async def forget(self, id: str) -> None:
        """Forget a server (see `ServerStore.forget`)."""
        await self._client.run(_FORGET, self._keys.of_shards()[0], quote(id))


_FORGET = Script("return redis.call('HDEL', KEYS[1] .. ':servers', ARGV[1])")
"""KEYS: a shard's base. ARGV: the id."""


def _read_all(rows: Sequence[str]) -> list[Server]:
    return [_read_server(*row) for row in zip(rows[::2], rows[1::2], strict=True)]


def _read_server(id: str, row: str) -> Server:
    times, _, text = row.partition("\n")
    since, seen = times.split(" ")
    version, format, channels = codec.decode(text)
    return Server(unquote(id), version, format, tuple(channels), float(since), float(seen))
