"""Rows of the audit chain in Redis: a hash beside the thread's keys, which stays without them.

A shard's set `audit` has the names of its threads that have rows.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import merge
from itertools import islice

from agui_bridge.protocol.threads.audit_chain import AuditRow
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.audit import Sealer
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.keys import Keys, key_of, quote, tag_of, unquote
from agui_bridge.stores.redis.scripts.lua import NOW, Script

__all__ = ["RedisAudit"]

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
