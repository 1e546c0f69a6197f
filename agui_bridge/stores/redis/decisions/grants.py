"""Remembered decisions in Redis: hashes of each scope, all of them in one slot.

`grants:SCOPE` has them by id, behind when they expire, how often they may be used and when they
were made; `…:u` counts uses, `…:r` has when and by whom one was revoked. A shard's set `grants` has
the names of its scopes that have any.
"""

from __future__ import annotations

import builtins
import zlib
from collections.abc import Callable, Collection

from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.grant_codec import decode_grant, encode_grant
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.keys import Keys, quote, unquote
from agui_bridge.stores.redis.scripts.lua import NOW, Script

__all__ = ["RedisGrants"]

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

_PRUNE = Script(
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
                pruned += await self._client.run(_PRUNE, self._of(unquote(name)), *arguments)
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
