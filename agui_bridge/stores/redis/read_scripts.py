"""The scripts that read, each one consistent look."""

from __future__ import annotations

from agui_bridge.stores.redis.lua import NOW, THREAD, Script

__all__ = [
    "COUNT_INTERRUPTS",
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

_FITTING = (
    NOW
    + """
local base, name = KEYS[1], ARGV[2]
local time, scope, agent, status, tool = tonumber(now(ARGV[1])), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local since = ARGV[7]
local PARTS = '^(%S*) (%S*) (%S+) (%S*)$'
local MOST_SEEN = 2000

-- Whether a row's `tool_call` is one of the tool: it begins with the call's id and the tool's name.
-- No key before it has that name, and in a string its quotes would be escaped.
local function asks_about(row)
  local _, at = string.find(row, '"tool_call":', 1, true)
  if string.sub(row, at + 1, at + 1) ~= '[' then return false end
  at = at + 2
  local escaped
  repeat
    at = string.find(row, '["\\\\]', at + 1)
    escaped = string.sub(row, at, at) == '\\\\'
    if escaped then at = at + 1 end
  until not escaped
  return string.sub(row, at + 1, at + 1 + #tool) == ',' .. tool
end

local function fits(member)
  local its, thread, _, id = string.match(member, PARTS)
  if agent ~= '' and agent ~= '=' .. its then return false end
  if status == '' and tool == '' then return true end
  local row = call('HGET', base .. ':t:' .. scope .. '/' .. its .. '/' .. thread .. ':i', id)
  local _, state, expires = string.match(row or '', '^%S+ %S* (%S+) (%S+) (%S+)\\n')
  if not state or (status ~= '' and state ~= status) then return false end
  if status == 'open' and tonumber(expires) <= time then return false end
  return tool == '' or asks_about(row)
end

-- Calls a function with each member that fits, and its time, until that returns true. Gives the
-- time from which on others have not been looked at, because they are many and all else waits.
local function each_fitting(visit)
  local at = since == '-inf' and 0 or call('ZCOUNT', base .. name, '-inf', '(' .. since)
  local seen, last = 0, nil
  while true do
    local some = call('ZRANGE', base .. name, at, at + 199, 'WITHSCORES')
    if #some == 0 then return '' end
    at = at + 200
    for n = 1, #some, 2 do
      if seen >= MOST_SEEN and some[n + 1] ~= last then return some[n + 1] end
      seen, last = seen + 1, some[n + 1]
      if fits(some[n]) and visit(some[n], last) then return '' end
    end
  end
end
"""
)
"""KEYS: a shard's base. ARGV: the clock, the index after the base, the scope, the agent behind
a "=" or nothing, the status or nothing, the tool as JSON or nothing, the earliest time."""

FIND_INTERRUPTS = Script(
    _FITTING
    + """
local after, limit = ARGV[8], tonumber(ARGV[9])
local found = {}

local function decoded(quoted)
  return (string.gsub(quoted, '%%(%x%x)', function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

-- Whether a member stands behind another of the same time, by the order of what is quoted in it.
local function is_behind(member, other)
  local mine, its = {string.match(member, PARTS)}, {string.match(other, PARTS)}
  for n = 1, 4 do
    local a, b = decoded(mine[n]), decoded(its[n])
    if a ~= b then return a > b end
  end
  return false
end

local on = each_fitting(function(member, raised)
  if after ~= '' and tonumber(raised) == tonumber(since) and not is_behind(member, after) then
    return false
  end
  -- Of those raised at once all are given: which of them are first is decided by others.
  if #found >= 2 * limit and raised ~= found[#found] then return true end
  found[#found + 1] = member
  found[#found + 1] = raised
end)
return {on, found}
"""
)
"""ARGV: as `_FITTING`, then the member behind which to begin or nothing, and the limit.

Gives where to go on looking or nothing, and members and times in turns, oldest first; beyond the
limit those that the last was raised with."""

COUNT_INTERRUPTS = Script(
    _FITTING
    + """
-- An index of a status has no other, but for open ones it does not say whether they have expired.
if tool == '' and status ~= 'open' and not string.find(name, '//', 1, true) then
  return {'', call('ZCARD', base .. name)}
end
local count, most = 0, tonumber(ARGV[8])
local on = each_fitting(function()
  count = count + 1
  return count >= most
end)
return {on, count}
"""
)
"""ARGV: as `_FITTING`, and how many to count at most. Gives where to go on counting or nothing, and
how many there are."""

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
