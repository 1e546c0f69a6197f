"""The scripts that read, each one consistent look."""

from __future__ import annotations

from agui_bridge.stores.redis.scripts.lua import LEASE, NOW, THREAD, TOOL, Script

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
if record[6] ~= '' then doubt(T, tonumber(time), record[7], record[10], record[11]) end
if record[9] ~= '' then want(string.sub(record[9], 2)) end
for n = 4, #ARGV do
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
if ARGV[3] ~= '' then receipts[#receipts + 1] = call('HGET', T .. ':c', ARGV[3]) or nil end
local messages = {}
if ARGV[2] == '1' then messages = call('HVALS', T .. ':m') end
return {time, record, rows, receipts, messages}
"""
)
"""ARGV: the clock, whether to bring messages, the key of an input's receipt, interrupt ids.

Gives the time and, if the thread exists, its record, interrupts, receipts, messages."""

WORDS = Script(
    """
local found = redis.call('HMGET', KEYS[1], 'lease', 'words')
if not found[1] or not found[2] then return false end
local own = found[1] .. ' '
if string.sub(found[2], 1, #own) ~= own then return false end
return string.sub(found[2], #own + 1)
"""
)
"""Gives the message that the thread's run is saying, if one is kept."""

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

_SLICES = """
local PARTS = '^(%S*) (%S*) (%S+) (%S*)$'
local MOST_SEEN = 2000
local base = KEYS[1]

local function row_of(scope, agent, thread, id)
  return call('HGET', base .. ':t:' .. scope .. '/' .. agent .. '/' .. thread .. ':i', id)
end

-- Calls a function with each member of an index from a time on, and its time, until that returns
-- true. Gives true then, nothing when all were seen, else the time from which on they have not
-- been looked at, because they are many and all else waits.
local seen, last = 0, nil
local function each_from(index, since, visit)
  local at = since == '-inf' and 0 or call('ZCOUNT', index, '-inf', '(' .. since)
  while true do
    local some = call('ZRANGE', index, at, at + 199, 'WITHSCORES')
    if #some == 0 then return nil end
    at = at + 200
    for n = 1, #some, 2 do
      if seen >= MOST_SEEN and some[n + 1] ~= last then return some[n + 1] end
      seen, last = seen + 1, some[n + 1]
      if visit(some[n], last) then return true end
    end
  end
end
"""
"""The functions that go through indexes of interrupts."""

SORT_BY_TOOL = Script(
    NOW
    + TOOL
    + _SLICES
    + """
local scope, asks = ARGV[2], base .. ':asks:' .. ARGV[2]
local sorted = call('ZSCORE', base .. ':tools', scope) or '-inf'
-- A clock may be set back, and one raised then must not be passed over.
local before = tonumber(now(ARGV[1])) - 60
local upto, more, refused = string.format('%.17g', before), 0, false

local function write(...)
  local reply = redis.pcall(...)
  refused = refused or type(reply) == 'table' and reply.err ~= nil
end

local function sort(member, raised)
  if tonumber(raised) >= before then return true end
  local agent, thread, _, id = string.match(member, PARTS)
  for _, tool in ipairs(tools_of(row_of(scope, agent, thread, id) or '')) do
    write('ZADD', asks .. ':open ' .. tool, raised, member)
  end
  return refused
end

-- What is being answered may be open again.
for _, status in ipairs({'open', 'answered', 'claimed'}) do
  seen = 0
  local on = each_from(asks .. ':' .. status, sorted, sort)
  if on and on ~= true then
    more = 1
    if tonumber(on) < tonumber(upto) then upto = on end
  end
end
if not refused then write('ZADD', base .. ':tools', upto, scope) end
return refused and 0 or more
"""
)
"""KEYS: a shard's base. ARGV: the clock, the scope. Puts open interrupts into the indexes of their
tools, from the one on that was last. Gives 1 where more are left.

Whoever lists by tool does it, and not who asks: questions that an older version has stored, or
stores at this moment, are found like all others. A server that refuses writes still lists."""

_FITTING = (
    NOW
    + TOOL
    + _SLICES
    + """
local name = ARGV[2]
local time, scope, agent, status, tool = tonumber(now(ARGV[1])), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local since = ARGV[7]

-- Whether an interrupt is looked for, and whether it will never again be open at this place.
local function fits(member)
  local its, thread, position, id = string.match(member, PARTS)
  if agent ~= '' and agent ~= '=' .. its then return false end
  if status == '' and tool == '' then return true end
  local row = row_of(scope, its, thread, id)
  local place, state, expires = string.match(row or '', '^%S+ %S* (%S+) (%S+) (%S+)\\n')
  if place ~= position or (status ~= '' and state ~= status) then
    return false, place ~= position or FINAL[state]
  end
  if status == 'open' and tonumber(expires) <= time then return false end
  return tool == '' or asks_about(row, tool)
end

local function each_unsorted(from, visit)
  local on = each_from(base .. name, from, function(member, raised)
    return fits(member) and visit(member, raised)
  end)
  return on ~= true and on or ''
end

-- Calls a function with each member that fits, and its time, until that returns true. Gives where
-- to go on (see `each_from`), or ''.
local function each_fitting(visit)
  local by_tool = base .. ':asks:' .. scope .. ':open ' .. tool
  local sorted = tool ~= '' and status == 'open' and call('ZSCORE', base .. ':tools', scope)
  if not sorted or call('ZCARD', base .. name) < call('ZCARD', by_tool) then
    return each_unsorted(since, visit)
  end
  local gone, enough = {}, false
  local on = each_from(by_tool, since, function(member, raised)
    if tonumber(raised) >= tonumber(sorted) then return true end
    local is_it, is_gone = fits(member)
    if is_gone then gone[#gone + 1] = member end
    enough = is_it and visit(member, raised)
    return enough
  end)
  for _, member in ipairs(gone) do redis.pcall('ZREM', by_tool, member) end
  if enough then return '' end
  if on and on ~= true then return on end
  local later = since ~= '-inf' and tonumber(since) > tonumber(sorted)
  return each_unsorted(later and since or sorted, visit)
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

_PLACE = """
local T = KEYS[1]

-- The position in the row of a message, which begins with its id: JSON text, as any of both.
local function place(row)
  local at = 3
  while true do
    local quote = string.find(row, '"', at, true)
    local back = quote - 1
    while string.sub(row, back, back) == '\\\\' do back = back - 1 end
    if (quote - back) % 2 == 1 then return string.match(row, '^,(-?%d+),', quote + 1) end
    at = quote + 1
  end
end
"""
"""Positions stay text: they may be more than a Lua number holds."""

HISTORY = Script(
    _PLACE
    + """
local before, most = ARGV[1], tonumber(ARGV[2])
local function is_below(a, b)
  local below, other = string.sub(a, 1, 1) == '-', string.sub(b, 1, 1) == '-'
  if below ~= other then return below end
  if below then a, b = string.sub(b, 2), string.sub(a, 2) end
  return #a < #b or (#a == #b and a < b)
end
local found = {}
for _, hash in ipairs({T .. ':m', T .. ':s'}) do
  for _, id in ipairs(redis.call('HKEYS', hash)) do
    local row = redis.call('HGET', hash, id)
    local at = place(row)
    if before == '' or is_below(at, before) then
      found[#found + 1] = {at = at, id = id, hash = hash, bytes = #row}
    end
  end
end
table.sort(found, function(a, b)
  if a.at ~= b.at then return is_below(b.at, a.at) end
  return a.id > b.id
end)
local rows = {}
for n, each in ipairs(found) do
  if most then
    most = most - each.bytes
    if most < 0 and n > 1 then break end
  end
  rows[n] = redis.call('HGET', each.hash, each.id)
end
return rows
"""
)
"""ARGV: the position below which to look, how many bytes at most; empty for no bound. Gives
messages, in context or not, the last first."""

POSITIONS = Script(
    _PLACE
    + """
local found = {}
for n, id in ipairs(ARGV) do
  local row = redis.call('HGET', T .. ':m', id) or redis.call('HGET', T .. ':s', id)
  found[n] = row and place(row) or ''
end
return found
"""
)
"""ARGV: ids of messages. Gives the position of each, empty for one that is not there."""

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
    + LEASE
    + """
local time = now(ARGV[1])
local function until_now(name)
  return call('ZRANGEBYSCORE', KEYS[1] .. name, '-inf', time, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
end
-- Of those that end last, those that are over since the clock was set back.
local ahead, t = {}, tonumber(time)
local last = call('ZREVRANGEBYSCORE', KEYS[1] .. ':leases', '+inf', '(' .. time,
                  'LIMIT', 0, ARGV[2])
for _, tag in ipairs(last) do
  local thread = KEYS[1] .. ':t:' .. tag
  local found = call('HMGET', thread, 'ends', 'given', 'doubted')
  if found[1] and is_over(t, found[1], found[2], found[3]) then
    ahead[#ahead + 1] = tag
    ahead[#ahead + 1] = '0'
  elseif found[1] then
    doubt(thread, t, found[1], found[2], found[3])
  end
end
return {until_now(':leases'), until_now(':expiry'), ahead}
"""
)
"""KEYS: a shard's base. ARGV: the clock, the limit. Gives tags and times of both kinds, and of
leases that end too late."""
