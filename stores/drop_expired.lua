-- Drops a client's messages past their TTL: the oldest, until one is younger.
--
-- KEYS: messages. ARGV: what was stored before this time (ms) goes. Returns how many went, and commands issued.

local commands, gone = 0, 0
while true do
  local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 100)
  commands = commands + 1
  for _, entry in ipairs(oldest) do
    if tonumber(entry[2][2]) >= tonumber(ARGV[1]) then
      return {gone, commands}
    end
    redis.call('XDEL', KEYS[1], entry[1])
    commands = commands + 1
    gone = gone + 1
  end
  if #oldest < 100 then
    break
  end
end
redis.call('DEL', KEYS[1])
return {gone, commands + 1}
