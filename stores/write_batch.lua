-- Writes one batch of one partition, all or nothing: Redis runs a script alone, and replicates it as one transaction.
--
-- KEYS: position, seen, then for each client its messages and its received marks. All share one hash tag.
-- ARGV: where the batch begins and ends (next offsets, '-' for none), marks, now (ms), TTL (ms), limit of messages,
--       number of seen lines, then (client id, line) each;
--       then for each client: cleared ('-' for none), and three counted lists: deleted, received, added, where
--       an added message takes three values: offset, headers, value.
-- Returns: 'written', dropped messages, commands issued; or 'stale' and where the store stands.

local commands, at = 0, 0

local function call(...)
  commands = commands + 1
  return redis.call(...)
end

local function take()
  at = at + 1
  return ARGV[at]
end

local begins, ends, marks, now, ttl, limit = take(), take(), take(), take(), take(), tonumber(take())
local position, seen = KEYS[1], KEYS[2]
local stands = call('HGET', position, 'next') or '-'
if stands ~= begins then
  return {'stale', stands}
end
call('HSET', position, 'next', ends, 'marks', marks)
call('DEL', seen)
for _ = 1, tonumber(take()) do
  local client = take()
  call('HSET', seen, client, take())
end

local dropped = 0
for key = 3, #KEYS, 2 do
  local messages, received = KEYS[key], KEYS[key + 1]
  local shrinks = false
  local cleared = take()
  if cleared ~= '-' then
    call('XTRIM', messages, 'MINID', cleared)
    call('ZREMRANGEBYSCORE', received, '-inf', '(' .. cleared)
    shrinks = true
  end
  for _ = 1, tonumber(take()) do
    local offset = take()
    -- What is done with is either still a message or already a mark.
    if call('XDEL', messages, offset .. '-1') == 0 then
      call('ZREM', received, offset)
    end
    shrinks = true
  end
  for _ = 1, tonumber(take()) do
    local offset = take()
    call('XDEL', messages, offset .. '-1')
    call('ZADD', received, offset, offset)
    shrinks = true
  end
  local added = tonumber(take())
  for _ = 1, added do
    local offset = take()
    local headers = take()
    call('XADD', messages, offset .. '-1', 'at', now, 'headers', headers, 'value', take())
  end
  if added > 0 then
    dropped = dropped + call('XTRIM', messages, 'MAXLEN', limit)
    call('PEXPIRE', messages, ttl)
  elseif shrinks and call('XLEN', messages) == 0 then
    call('DEL', messages) -- an emptied stream stays a key, and there may be a million clients
  end
end
if dropped > 0 then
  call('HINCRBY', position, 'dropped', dropped)
end
return {'written', dropped, commands}
