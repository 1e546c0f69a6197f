"""The scripts that write: each happens whole or not at all, by the clock of Redis.

What they decide is what `commit_rules` decides in Python; after a refusal the store asks there for
the error, so that the two can't drift apart unseen.
"""

from __future__ import annotations

from agui_bridge.stores.redis.scripts.lua import DELIVERIES, LEASE, NOW, THREAD, TOOL, Script

_WRITE = (
    THREAD
    + TOOL
    + DELIVERIES
    + """

-- Whether the guards of a write hold; see check_commit.
local function holds(head, time, version, lease, after, not_after)
  local t = tonumber(time)
  if not_after ~= '' and t >= tonumber(not_after) then return false end
  if lease ~= '' and not (head and head.lease == lease
                          and not is_over(t, head.ends, head.given, head.doubted)) then
    return false
  end
  if after ~= '' and head and head.write_id ~= after then return false end
  if version == '' then return lease ~= '' or not head end
  return head and head.version == version
end

local function index(tag, id, raised, position, status)
  local scope, agent, thread = parts(tag)
  local member = agent .. ' ' .. thread .. ' ' .. position .. ' ' .. id
  local asks = P .. ':asks:' .. scope
  call('ZADD', asks, raised, member)
  call('ZADD', asks .. ':' .. status, raised, member)
  call('ZADD', asks .. '/' .. agent, raised, member)
  call('ZADD', asks .. '/' .. agent .. ':' .. status, raised, member)
  call('ZADD', asks .. '//' .. thread, raised, member)
end

local function unindex(tag, id, position, status)
  local scope, agent, thread = parts(tag)
  local member = agent .. ' ' .. thread .. ' ' .. position .. ' ' .. id
  local asks = P .. ':asks:' .. scope
  call('ZREM', asks, member)
  call('ZREM', asks .. ':' .. status, member)
  call('ZREM', asks .. '/' .. agent, member)
  call('ZREM', asks .. '/' .. agent .. ':' .. status, member)
  call('ZREM', asks .. '//' .. thread, member)
end

-- By tool an interrupt stands only after somebody has looked for tools, and as long as it is there.
local function unindex_tool(tag, id, position, row)
  local scope, agent, thread = parts(tag)
  for _, tool in ipairs(tools_of(row)) do
    call('ZREM', P .. ':asks:' .. scope .. ':open ' .. tool,
         agent .. ' ' .. thread .. ' ' .. position .. ' ' .. id)
  end
end

local function stop_member(tag, stop)
  local token, rest = string.match(stop, '^(%S*)( .*)$')
  return token .. ' ' .. tag .. rest
end

local function remove(tag, head)
  local scope, agent, thread = parts(tag)
  local rows = call('HGETALL', T .. ':i')
  for n = 1, #rows, 2 do
    local raised, batch, position, status = parse(rows[n + 1])
    unindex(tag, rows[n], position, status)
    unindex_tool(tag, rows[n], position, rows[n + 1])
    forget(tag .. ' ' .. rows[n])
  end
  remove_deliveries(tag)
  if head.stop then call('ZREM', P .. ':stops', stop_member(tag, head.stop)) end
  call('ZREM', P .. ':threads:' .. scope .. '/' .. agent, thread)
  call('ZREM', P .. ':leases', tag)
  call('ZREM', P .. ':expiry', tag)
  call('ZREM', P .. ':idle', tag)
  call('UNLINK', T, T .. ':i', T .. ':b', T .. ':o', T .. ':c', T .. ':m', T .. ':s',
       T .. ':d', T .. ':e')
end
"""
)

COMMIT = Script(
    _WRITE
    + """
local at = 0
local function take() at = at + 1; return ARGV[at] end
local time, tag, write_id = now(take()), take(), take()
local version, lease, after, not_after = take(), take(), take(), take()
local waits = take()
local head, found = head_of()

if head and head.write_id == write_id then
  -- WAIT counts the writes of its own connection, and this may be another one than then.
  if waits ~= '' then call('HSET', T, 'write_id', write_id) end
  return {'again', time, record_of()}
end
if not holds(head, time, version, lease, after, not_after) then return {'refused', time, found} end

local first, status, its_lease, ends = take(), take(), take(), take()
local given, doubted = take(), take()
local seconds, batch, look_at, data = take(), take(), take(), take()
if ends ~= '' and seconds ~= '' then
  ends = string.format('%.17g', tonumber(time) + tonumber(seconds))
  given, doubted = time, ''
end
local created = head and head.created or time
call('HSET', T, 'write_id', write_id, 'created', created, 'updated', time, 'status', status,
     'lease', its_lease, 'ends', ends, 'given', given, 'doubted', doubted,
     'batch', batch, 'data', data)
if head then call('HINCRBY', T, 'version', 1) else call('HSET', T, 'version', first) end

for _ = 1, tonumber(take()) do
  local id, its, position, state, expires, json = take(), take(), take(), take(), take(), take()
  local old = call('HGET', T .. ':i', id)
  local raised = time
  local former, old_state
  if old then
    local old_position
    raised, former, old_position, old_state = parse(old)
    if old_position ~= position or old_state ~= state then
      unindex(tag, id, old_position, old_state)
    end
    -- By tool it stood by its old place, or no longer: who looks for tools sorts all anew.
    if old_position ~= position or FINAL[old_state] then
      call('ZREM', P .. ':tools', (parts(tag)))
    end
  end
  call('HSET', T .. ':i', id, raised .. ' ' .. its .. ' ' .. position .. ' ' .. state .. ' '
       .. expires .. '\\n' .. json)
  index(tag, id, raised, position, state)
  if former ~= its then
    local ids = call('HGET', T .. ':b', its) or ''
    if not string.find(ids .. ' ', '=' .. id .. ' ', 1, true) then
      call('HSET', T .. ':b', its, ids .. ' =' .. id)
    end
  end
  if state == 'open' then
    call('ZADD', T .. ':o', expires, id)
  else
    call('ZREM', T .. ':o', id)
  end
  to_be_told(tag .. ' ' .. id, old_state, state, raised, expires, time)
end
for _ = 1, tonumber(take()) do call('HSET', T .. ':c', take(), take()) end
for _ = 1, tonumber(take()) do
  local id, json = take(), take()
  call('HSET', T .. ':m', id, json)
  call('HDEL', T .. ':s', id)
end
for _ = 1, tonumber(take()) do
  local id = take()
  local json = call('HGET', T .. ':m', id)
  if json then
    call('HSET', T .. ':s', id, json)
    call('HDEL', T .. ':m', id)
  end
end
local sealed = tonumber(take())
for _ = 1, sealed do call('HSET', T .. ':a', take(), take()) end
if sealed > 0 then call('ZADD', P .. ':audit', 0, tag) end
if take() ~= '' then call('HDEL', T, 'words') end

local scope, agent, thread = parts(tag)
call('ZADD', P .. ':threads:' .. scope .. '/' .. agent, '-' .. time, thread)
if its_lease ~= '' then
  call('ZADD', P .. ':leases', ends, tag)
else
  call('ZREM', P .. ':leases', tag)
end
if status == 'idle' then
  call('ZADD', P .. ':idle', time, tag)
else
  call('ZREM', P .. ':idle', tag)
end
-- Every ask of the open batch expires, and one still waits.
local latest, waiting, all = nil, false, true
if status == 'interrupted' and batch ~= '' then
  each_of(string.sub(batch, 2), function(row, state, expires)
    if expires == 'inf' then
      all = false
    elseif not latest or tonumber(expires) > tonumber(latest) then
      latest = expires
    end
    waiting = waiting or state == 'open' or state == 'answered'
  end)
end
-- A thread that does nothing ends nothing but the pause before the next look.
if look_at ~= '' then latest, waiting = look_at, true end
if latest and all and waiting then
  call('ZADD', P .. ':expiry', latest, tag)
else
  call('ZREM', P .. ':expiry', tag)
end
return {'done', time, call('HGET', T, 'version'), created, ends, given, doubted,
        head and head.stop or false}
"""
)
"""ARGV: see `Write.arguments` in `rows`.

Gives `done`, the time and what the store itself decided; or `again`, the time and the record
of a write that had succeeded before; or `refused`, the time and the head."""

RENEW = Script(
    NOW
    + LEASE
    + """
local P = KEYS[1]
local time = now(ARGV[1])
local ends = string.format('%.17g', tonumber(time) + tonumber(ARGV[2]))
local held = {}
for n = 3, #ARGV, 2 do
  local tag, lease = ARGV[n], ARGV[n + 1]
  local thread = P .. ':t:' .. tag
  local found = call('HMGET', thread, 'lease', 'ends', 'given', 'doubted', 'status')
  if found[1] == lease and not is_over(tonumber(time), found[2], found[3], found[4]) then
    if found[5] == 'running' then call('HINCRBY', thread, 'version', 1) end
    call('HSET', thread, 'ends', ends, 'given', time, 'doubted', '')
    call('ZADD', P .. ':leases', ends, tag)
    held[#held + 1] = lease
  end
end
return {time, held}
"""
)
"""KEYS: a shard's. ARGV: the clock, the seconds, then in turns tags of threads and their leases.

Gives the time and the leases that hold on."""

KEEP_WORDS = Script(
    NOW
    + """
local T = KEYS[1]
local found = call('HMGET', T, 'lease', 'ends')
if found[1] ~= ARGV[2] or tonumber(found[2]) <= tonumber(now(ARGV[1])) then return 0 end
call('HSET', T, 'words', ARGV[2] .. ' ' .. ARGV[3])
return 1
"""
)
"""ARGV: the clock, the lease, the message. Gives 1 if the lease holds, else 0."""

REQUEST_STOP = Script(
    _WRITE
    + """
local tag, stop = ARGV[1], ARGV[2]
local head = head_of()
if not head then return false end
-- See join_stops.
local function read(text) return string.match(text, '^(%S*) (%d) (%S+) (%S*)$') end
local result = stop
if head.stop then
  local token, force, till, actor = read(head.stop)
  local new_token, new_force, new_till = read(stop)
  if token ~= new_token then
    if head.lease == '=' .. token then result = head.stop end
  elseif not (new_force == '1' and force == '0') then
    if tonumber(new_till) < tonumber(till) then till = new_till end
    result = token .. ' ' .. force .. ' ' .. till .. ' ' .. actor
  end
end
call('HSET', T, 'stop', result)
if head.stop then call('ZREM', P .. ':stops', stop_member(tag, head.stop)) end
call('ZADD', P .. ':stops', 0, stop_member(tag, result))
return record_of()
"""
)
"""ARGV: the thread's tag, the request.

Gives the record, if there is one.
"""

DELETE = Script(
    _WRITE
    + """
local time, tag = now(ARGV[1]), ARGV[2]
local head, found = head_of()
if not head or not holds(head, time, ARGV[3], ARGV[4], ARGV[5], '') then return {time, found} end
remove(tag, head)
return false
""",
    repeatable=False,
)
"""ARGV: the clock, the tag, the version, lease and write id expected.

Gives nothing when the thread is deleted, else the time and the head."""

PRUNE = Script(
    _WRITE
    + """
local head = head_of()
if not head or head.status ~= 'idle' or tonumber(head.updated) > tonumber(ARGV[2]) then
  return 0
end
remove(ARGV[1], head)
return 1
"""
)
"""ARGV: the tag, the latest time of its last touch. Gives how many it deleted."""

TELL = Script(
    """
local said = ARGV[2] ~= '' and redis.pcall('SPUBLISH', KEYS[1], ARGV[1])
if type(said) ~= 'number' then redis.pcall('PUBLISH', KEYS[1], ARGV[1]) end
"""
)
"""KEYS: a channel. ARGV: what is said there, and whether to shard it where that can be.

A hint, so whatever forbids it is passed over. A channel of a process is given as a key, since that
is how a cluster knows which of its servers hears it.
"""
