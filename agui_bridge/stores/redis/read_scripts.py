"""The scripts that read, each one consistent look."""

from __future__ import annotations

from agui_bridge.stores.redis.lua import NOW, THREAD, Script

__all__ = [
    "DUE",
    "FIND_INTERRUPTS",
    "HISTORY",
    "IDLE",
    "INTERRUPT_ROWS",
    "LIST_ROW",
    "LOAD",
    "MARK",
    "NEWEST",
    "PING",
    "STOPS",
    "TIME",
]

TIME = Script(NOW + "return now(ARGV[1])")
"""ARGV: the clock. Gives the time."""

PING = Script(
    NOW
    + """
local time = now(ARGV[1])
call('SET', KEYS[1] .. ':probe', time)
return time
"""
)
"""ARGV: the clock. Writes the shard's own key, and gives the time."""

LOAD = Script(
    THREAD
    + """
local time = now(ARGV[1])
local record = record_of()
if not record[1] then return {time} end
local seen, batches, rows, receipts = {}, {}, {}, {}
local function want(batch)
  if not seen[batch] then seen[batch] = true; batches[#batches + 1] = batch end
end
if record[9] ~= '' then want(string.sub(record[9], 2)) end
for n = 3, #ARGV do
  local row = call('HGET', T .. ':i', ARGV[n])
  if row then
    local raised, batch = parse(row)
    want(batch)
  end
end
for _, batch in ipairs(batches) do
  local before = #rows
  each_of(batch, function(row) rows[#rows + 1] = row end)
  if #rows > before then
    receipts[#receipts + 1] = call('HGET', T .. ':c', batch) or nil
  end
end
local messages = {}
if ARGV[2] == '1' then messages = call('HVALS', T .. ':m') end
return {time, record, rows, receipts, messages}
"""
)
"""ARGV: the clock, whether to bring messages, interrupt ids.

Gives the time and, if the thread exists, its record, interrupts, receipts, messages."""

STOPS = Script(
    """
local found = {}
for _, token in ipairs(ARGV) do
  -- '!' is what follows the space.
  local some = redis.call('ZRANGEBYLEX', KEYS[1] .. ':stops', '[' .. token .. ' ',
                          '(' .. token .. '!')
  for _, member in ipairs(some) do found[#found + 1] = member end
end
return found
"""
)
"""KEYS: a shard's base. ARGV: tokens. Gives members of `stops`."""

LIST_ROW = Script(
    THREAD
    + """
local record = record_of()
if not record[1] then return false end
local waiting = call('ZCOUNT', T .. ':o', '(' .. now(ARGV[1]), '+inf')
return {record, call('HLEN', T .. ':m'), waiting}
"""
)
"""ARGV: the clock. Gives the record, the messages in context and the interrupts that wait."""

FIND_INTERRUPTS = Script(
    NOW
    + """
local base, name = KEYS[1], ARGV[2]
local time, scope, agent, status = tonumber(now(ARGV[1])), ARGV[3], ARGV[4], ARGV[5]
local limit = tonumber(ARGV[6])
local found, at = {}, 0
while #found < 2 * limit do
  local some = call('ZRANGE', base .. name, at, at + 199, 'WITHSCORES')
  if #some == 0 then break end
  at = at + 200
  for n = 1, #some, 2 do
    local its, thread, id = string.match(some[n], '^(%S*) (%S*) %S+ (%S*)$')
    local fits = agent == '' or agent == '=' .. its
    if fits and status ~= '' then
      local row = call('HGET', base .. ':t:' .. scope .. '/' .. its .. '/' .. thread .. ':i', id)
      local _, state, expires = string.match(row or '', '^%S+ %S* (%S+) (%S+) (%S+)\\n')
      fits = state == status and (state ~= 'open' or tonumber(expires) > time)
    end
    if fits and #found < 2 * limit then
      found[#found + 1] = some[n]
      found[#found + 1] = some[n + 1]
    end
  end
end
return found
"""
)
"""KEYS: a shard's base. ARGV: the clock, the index after the base, the scope, the agent behind
a "=" or nothing, the status or nothing, the limit. Gives members and times in turns."""

INTERRUPT_ROWS = Script(
    """
local rows = {}
for _, id in ipairs(ARGV) do
  rows[#rows + 1] = redis.call('HGET', KEYS[1] .. ':i', id) or nil
end
return rows
"""
)
"""ARGV: interrupt ids. Gives the rows of those that are there."""

HISTORY = Script(
    """
return {redis.call('HVALS', KEYS[1] .. ':m'), redis.call('HVALS', KEYS[1] .. ':s')}
"""
)
"""Gives all messages, those in context first, in no order."""

MARK = Script("return redis.call('HMGET', KEYS[1], 'version', 'stop')")
"""Gives what differs whenever the thread has changed."""

NEWEST = Script(
    """
return redis.call('ZRANGEBYSCORE', ARGV[1], ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
"""
)
"""ARGV: the index, where to begin, the limit. Gives threads and negated times in turns."""

IDLE = Script(
    """
return redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
"""
)
"""KEYS: a shard's base, its `idle`. ARGV: the latest time, the limit. Gives tags and times."""

DUE = Script(
    NOW
    + """
local time = now(ARGV[1])
local function until_now(name)
  return call('ZRANGEBYSCORE', KEYS[1] .. name, '-inf', time, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
end
return {until_now(':leases'), until_now(':expiry')}
"""
)
"""KEYS: a shard's base. ARGV: the clock, the limit. Gives tags and times of both kinds."""
