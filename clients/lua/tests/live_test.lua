-- The machine's chance keeps to the bounds that the daemon's keeps to.

local check = require "check"
local live = require "playhead_client.live"
local test, same = check.test, check.same

test("a sample has different positions, all of them where all are drawn", function()
  for _ = 1, 50 do
    local drawn = live.sample(12, 12)
    table.sort(drawn)
    same(drawn, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 })
  end
  same(#live.sample(4294967296, 3), 3)
  same(live.sample(5, 0), {})
end)

test("integers have both ends, floats are below 1, bytes are as many as asked", function()
  local seen = {}
  for _ = 1, 500 do seen[live.randint(1, 3)] = true end
  same(seen, { true, true, true })
  local float = live.random()
  same(float >= 0 and float < 1, true)
  same({ #live.randbytes(0), #live.randbytes(5) }, { 0, 5 })
end)

test("the clocks tell milliseconds", function()
  same(math.abs(live.now() - os.time() * 1000) <= 1000, true)
  same(math.type(live.now()), "integer")
  local before = live.monotonic()
  same(live.monotonic() >= before, true)
end)
