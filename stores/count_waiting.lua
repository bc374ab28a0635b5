-- Counts what waits for one client, and reads no more of it than what is past its TTL, which is the oldest.
--
-- KEYS: position, messages, received. All share one hash tag. ARGV: what was stored before this time (ms) is past.
-- Returns: messages, received marks, the position's next offset ('-' for none), and commands issued.

local commands, past, from = 3, 0, '-'
local next = redis.call('HGET', KEYS[1], 'next') or '-'
local messages, received = redis.call('XLEN', KEYS[2]), redis.call('ZCARD', KEYS[3])
while past < messages do
  local oldest = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 10)
  commands = commands + 1
  for _, entry in ipairs(oldest) do
    if tonumber(entry[2][2]) >= tonumber(ARGV[1]) then
      return {messages - past, received, next, commands}
    end
    past = past + 1
    from = string.gsub(entry[1], '-1$', '-2') -- an id ends in "-1", so this is right behind it
  end
end
return {messages - past, received, next, commands}
