"""What the scripts that run inside Redis have in common.

KEYS[1] is a thread's record, KEYS[2] the base of its shard; every other key is one of these
with a suffix, and so has their hash tag and lies in their slot. Numbers stay text wherever
they are only stored: a Lua number holds no more than 53 bits, and prints 14 digits.

A thread has these keys:
    record        hash: HEAD and `data`; `words`, what a run is saying: "lease" and the message
    record:i      hash: interrupt id → "raised batch position status expires", its JSON below
    record:b      hash: batch → the ids of its interrupts, each behind a "="
    record:o      sorted set: open interrupts by expiry
    record:c      hash: batch → receipt
    record:m, :s  hash: message id → message, in context and superseded
    record:a      hash: row of the audit chain → its time and the row; stays when a thread goes
    record:d      hash: delivery id → "interrupt channel event state due attempts lease created
                  updated", its JSON below
    record:e      hash: the interrupts whose end is planned for
A shard has these, all of them sorted sets:
    threads:SCOPE/AGENT         threads by the time since they were touched
    asks:SCOPE[/AGENT][:STATUS] interrupts by the time when they were raised
    asks:SCOPE//THREAD          the same of the threads of one id
    asks:SCOPE:open TOOL        open interrupts about a tool, its name as JSON
    tools                       scopes by the time before which their interrupts are sorted by tool
    leases, expiry, idle        threads by when they end, expire (or are looked at), were touched
    stops                       stop requests by the token that they are for
    audit                       threads that have rows of the audit chain, all of one score
    grants                      scopes that have remembered decisions, all of one score
    asks-new                    open interrupts that nobody has announced, by when they were raised
    asks-told, asks-over        announced ones by when they expire; those that are over
    due:CHANNEL                 queued deliveries by when they are due
    deliveries:SCOPE[:STATE]    deliveries by the time since they were made
    deliveries                  scopes that have deliveries, all of one score
The first shard has a hash besides:
    servers                     server id → "since seen", its JSON below
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Script:
    """A script and the digest by which the server knows it.

    Attributes:
        repeatable: whether it may run twice when the first reply was lost.
    """

    text: str
    repeatable: bool = True
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "sha", digest)


NOW = """
local call = redis.call

-- The store's time: the server's, unless a test has a clock of its own.
local function now(given)
  if given ~= '' then return given end
  local time = call('TIME')
  return time[1] .. '.' .. string.format('%06d', time[2])
end
"""
"""The function that tells the time."""

LEASE = """
-- What LeaseTerm decides. An older version writes neither `given` nor `doubted`.
local function is_ahead(t, ends, given)
  local at = tonumber(given or '')
  return at and t < at and at < tonumber(ends)
end

local function is_over(t, ends, given, doubted)
  local till = tonumber(doubted or '')
  return tonumber(ends) <= t or (is_ahead(t, ends, given) and till and till <= t)
end

-- Note of a lease that ends too late until when it is waited for. A server that refuses writes is
-- read all the same.
local function doubt(thread, t, ends, given, doubted)
  if not is_ahead(t, ends, given) then return end
  local till, known = t + (tonumber(ends) - tonumber(given)), tonumber(doubted or '')
  if known and known <= till then return end
  redis.pcall('HSET', thread, 'doubted', string.format('%.17g', till))
end
"""
"""The functions that tell whether a lease is over."""

THREAD = (
    NOW
    + LEASE
    + """
local T, P = KEYS[1], KEYS[2]
local HEAD = {'version', 'write_id', 'created', 'updated', 'status', 'lease', 'ends', 'stop',
              'batch', 'given', 'doubted'}

local function head_of()
  local v = call('HMGET', T, unpack(HEAD))
  if not v[1] then return nil, v end
  return {version = v[1], write_id = v[2], created = v[3], updated = v[4], status = v[5],
          lease = v[6], ends = v[7], stop = v[8], batch = v[9], given = v[10], doubted = v[11]}, v
end

local function record_of()
  local v = call('HMGET', T, unpack(HEAD))
  v[#HEAD + 1] = call('HGET', T, 'data')
  return v
end

local function parse(row)
  return string.match(row, '^(%S+) (%S*) (%S+) (%S+) (%S+)\\n')
end

-- Calls a function with each interrupt of a batch: its row and what the row begins with.
local function each_of(batch, visit)
  local ids = call('HGET', T .. ':b', batch) or ''
  for id in string.gmatch(ids, '=(%S*)') do
    local row = call('HGET', T .. ':i', id)
    if row then
      local raised, its, position, status, expires = parse(row)
      -- An interrupt may have moved to another batch.
      if its == batch then visit(row, status, expires) end
    end
  end
end
"""
)
"""The functions about one thread."""

TOOL = """
-- What an interrupt does not come back from.
local FINAL = {resolved = true, cancelled = true, expired = true, indeterminate = true}

-- Where the JSON string ends that begins at a place.
local function end_of_string(row, at)
  local escaped
  repeat
    at = string.find(row, '["\\\\]', at + 1)
    escaped = string.sub(row, at, at) == '\\\\'
    if escaped then at = at + 1 end
  until not escaped
  return at
end

-- The tools that an interrupt asks about, each as JSON: its row's `tool_call` begins with the
-- call's id and the tool's name; behind one that is null stands `about_tool`, and behind that of
-- several calls `about_tools`, each on a line. No key before it has that name, and in a string its
-- quotes would be escaped.
local function tools_of(row)
  local _, at = string.find(row, '"tool_call":', 1, true)
  if not at then return {} end
  if string.sub(row, at + 1, at + 1) == '[' then
    local name = end_of_string(row, at + 2) + 2
    return {string.sub(row, name, end_of_string(row, name))}
  end
  local _, about = string.find(row, '^null,"about_tool":"', at + 1)
  if not about then return {} end
  local ends = end_of_string(row, about)
  local _, several = string.find(row, '^,"about_tools":"', ends + 1)
  local lines = several and string.sub(row, several + 1, end_of_string(row, several) - 1) or ''
  if lines == '' then return {string.sub(row, about, ends)} end
  local found = {}
  local text = string.gsub(lines, '\\\\(.)', function(it) return it == 'n' and '\\n' or it end)
  for name in string.gmatch(text, '[^\\n]+') do found[#found + 1] = name end
  return found
end

local function asks_about(row, tool)
  for _, name in ipairs(tools_of(row)) do
    if name == tool then return true end
  end
  return false
end
"""
"""What the indexes by tool are kept with."""

DELIVERIES = """
local function parts(tag) return string.match(tag, '^([^/]*)/([^/]*)/([^/]*)$') end

-- A question is put where those look who announce it and its end. Its name is "tag id".
local function to_be_told(name, old_state, state, raised, expires, time)
  if state == 'open' then
    if not old_state then
      call('ZADD', P .. ':asks-new', raised, name)
    else
      call('ZADD', P .. ':asks-told', 'XX', expires, name)
    end
  elseif old_state == 'open' then
    call('ZREM', P .. ':asks-new', name)
    if call('ZREM', P .. ':asks-told', name) == 1 then
      call('ZADD', P .. ':asks-over', time, name)
    end
  end
end

local function forget(name)
  call('ZREM', P .. ':asks-new', name)
  call('ZREM', P .. ':asks-told', name)
  call('ZREM', P .. ':asks-over', name)
end

local function parse_delivery(row)
  return string.match(row, '^(%S+) (%S*) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\\n(.*)$')
end

-- Puts a delivery where its state belongs, and takes it away where it was before.
local function index_delivery(tag, id, old_state, state, channel, due, created)
  local name, scope = tag .. ' ' .. id, parts(tag)
  local all = P .. ':deliveries:' .. scope
  if old_state and old_state ~= state then call('ZREM', all .. ':' .. old_state, name) end
  if state then
    call('ZADD', all, '-' .. created, name)
    call('ZADD', all .. ':' .. state, '-' .. created, name)
    call('ZADD', P .. ':deliveries', 0, scope)
  else
    call('ZREM', all, name)
    if call('EXISTS', all) == 0 then call('ZREM', P .. ':deliveries', scope) end
  end
  if state == 'queued' then
    call('ZADD', P .. ':due:' .. channel, due, name)
  else
    call('ZREM', P .. ':due:' .. channel, name)
  end
end

local function remove_deliveries(tag)
  local rows = call('HGETALL', T .. ':d')
  for n = 1, #rows, 2 do
    local _, channel, _, state = parse_delivery(rows[n + 1])
    index_delivery(tag, rows[n], state, nil, channel)
  end
end
"""
"""The functions about what is to be told of a thread's questions."""
