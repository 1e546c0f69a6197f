"""Many threads in a store at once: copies of one that the bridge wrote, in the store's own form.

On PostgreSQL its rows are copied by the server; on Redis its commit is repeated by the store's own
script, so that every index is as the bridge would have made it.
"""

from __future__ import annotations

import time

import redis

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import ABSENT
from agui_bridge.stores.redis.deliveries import PLAN
from agui_bridge.stores.redis.rows import Keys, Write, quote, tag_of
from agui_bridge.stores.redis.scripts.writing import COMMIT
from benchmarks.contenders.own_servers import query

SPACING = 0.01
"""Seconds between two copies."""

_TABLES = ("agui_threads", "agui_messages", "agui_interrupts", "agui_receipts", "agui_announced")
_AT_ONCE = 500
"""Threads that one call copies: a script holds up all others while it runs."""

_CLONE = f"""
local function commit(KEYS, ARGV)
{COMMIT.text}
end
local function plan(KEYS, ARGV)
{PLAN.text}
end
local base, told = KEYS[1], tonumber(ARGV[6])
local asks, write = {{}}, {{}}
for n = 7, 6 + told do asks[#asks + 1] = ARGV[n] end
for n = 7 + told, #ARGV do write[#write + 1] = ARGV[n] end
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local tag = ARGV[3] .. '-' .. string.format('%07d', n)
  local keys, clock = {{base .. ':t:' .. tag, base}}, string.format('%.6f', ARGV[4] + n * ARGV[5])
  write[1], write[2] = clock, tag
  commit(keys, write)
  for _, ask in ipairs(asks) do plan(keys, {{clock, tag, ask, ''}}) end
end
"""
"""KEYS: the base of the only shard. ARGV: the first and the last number, the tag's beginning, the
time of number 0, the seconds between two, how many questions are told; these; a commit's own."""


def name_of(kind: str, number: int) -> str:
    """The thread of a copy."""
    return f"{kind}-{number:07d}"


def change_of(loaded: Loaded) -> Change:
    """What a thread consists of, as one commit."""
    assert loaded.record is not None
    return Change(
        loaded.record,
        tuple(loaded.interrupts.values()),
        tuple(loaded.receipts.values()),
        loaded.messages,
    )


def clone_in_postgres(
    dsn: str, schema: str, key: ThreadKey, kind: str, count: int, age: float
) -> None:
    """Copy a thread's rows.

    Args:
        dsn: the database.
        schema: where the tables lie.
        key: the thread.
        kind: what the copies' ids begin with.
        count: how many there shall be.
        age: seconds since the oldest was touched and has asked.
    """
    began = time.time() - age
    for table in _TABLES:
        found = query(
            dsn,
            "SELECT column_name FROM information_schema.columns WHERE table_schema = $1"
            " AND table_name = $2 AND is_generated = 'NEVER' ORDER BY ordinal_position",
            schema,
            table,
        )
        columns = [row["column_name"] for row in found]
        moment = f"{began} + n * {SPACING}"
        made = {"thread": f"'{kind}-' || lpad(n::text, 7, '0')"}
        made |= dict.fromkeys(("raised_at", "updated_at", "created_at"), moment)
        values = ", ".join(made.get(name, name) for name in columns)
        query(
            dsn,
            f'INSERT INTO "{schema}".{table} ({", ".join(columns)})'
            f' SELECT {values} FROM "{schema}".{table}, generate_series(0, {count - 1}) n'
            " WHERE scope = $1 AND agent = $2 AND thread = $3",
            key.scope,
            key.agent,
            key.thread,
        )


def clone_in_redis(
    url: str, keys: Keys, loaded: Loaded, kind: str, count: int, age: float, *, told: bool
) -> None:
    """Commit a thread's content again and again.

    Args:
        url: the server.
        keys: the store's layout.
        loaded: the thread.
        kind: what the copies' ids begin with.
        count: how many there shall be.
        age: seconds since the oldest was touched and has asked.
        told: whether its questions have been announced.
    """
    assert loaded.record is not None
    key, change = loaded.record.key, change_of(loaded)
    write = Write.of(key, change, "copied").arguments("", "", ABSENT, waits=False)
    asks = [quote(ask.id) for ask in change.interrupts] if told else []
    owner = tag_of(ThreadKey(key.scope, key.agent, ""))
    with redis.Redis.from_url(url, socket_timeout=600) as client:
        clone = client.register_script(_CLONE)
        for at in range(0, count, _AT_ONCE):
            last = min(at + _AT_ONCE, count) - 1
            of_these = (at, last, f"{owner}{kind}", repr(time.time() - age), SPACING, len(asks))
            clone(keys=[keys.base(0)], args=[*of_these, *asks, *write])
