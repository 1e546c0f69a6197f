"""The scripts about deliveries: each happens whole or not at all, by the clock of Redis."""

from __future__ import annotations

from agui_bridge.stores.redis.scripts.lua import DELIVERIES, NOW, THREAD, Script

__all__ = [
    "CLAIM",
    "CLOSE",
    "DUE",
    "FINISH",
    "LEFT",
    "LIST",
    "OVER",
    "PLAN",
    "ROWS",
    "SCOPES",
    "UNANNOUNCED",
]

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
