-- Whole conversations with a real process: what the daemon says is piped in, and every line that comes out is a frame.
--
-- A client of one question at a time reads only when it waits, so all that the daemon will say can be written ahead.

local check = require "check"
local dkjson = require "dkjson"
local json = require "playhead_client.json"
local test, same = check.test, check.same

local null = json.null
local HELLO = { id = 1, method = "initialize", params = {
  protocol = 1, daemon = { name = "test", version = "0" }, capabilities = { window = true, reset = true },
  limits = { frameBytes = 67108864, depth = 1000 }, constants = {},
} }

local function handle(id, call, fn, event, window)
  return { id = id, method = "handle", params = { call = call, fn = fn, event = event, seq = call, window = window } }
end

local function asked(frame)
  return { frame.method, frame.params }
end

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Says `frames` (a text is a line as it stands) and gives what comes back, the exit code and what went to stderr.
local function play(frames, program)
  local said, errors = os.tmpname(), os.tmpname()
  local file = assert(io.open(said, "w"))
  for _, frame in ipairs(frames) do
    if type(frame) == "table" then
      frame.jsonrpc = "2.0"
      frame = json.encode(frame)
    end
    file:write(frame, "\n")
  end
  file:close()
  program = program or quoted(ROOT .. "conformance.lua")
  local command = ("cat %s | %s %s 2>%s"):format(said, quoted(LUA), program, errors)
  local out, back = assert(io.popen(command)), {}
  for line in out:lines() do
    back[#back + 1] = dkjson.decode(line, 1, null) or error("not a frame: " .. line:sub(1, 200))
    setmetatable(back[#back], nil)
  end
  local _, _, code = out:close()
  local heard = assert(io.open(errors)):read("a")
  os.remove(said)
  os.remove(errors)
  return back, code, heard
end

test("a charge on record: asked in order, settled, answered", function()
  local back, code = play {
    HELLO, handle(2, 7, "charge", { amount = 300 }),
    { id = 1, result = 1783036800000 }, { id = 2, result = 0.25 }, { id = 3, result = { produce = true } },
    { id = 4, result = {} }, { id = "bye", method = "shutdown", params = {} },
  }
  same(code, 0)
  same(back[1].result.capabilities, { window = true, reset = true })
  same(asked(back[2]), { "now", { call = 7, ask = 0 } })
  same(asked(back[3]), { "random", { call = 7, ask = 1 } })
  same(asked(back[4]), { "respond", { call = 7, ask = 2, key = "account.balance" } })
  same(asked(back[5]), { "respond.settle", { call = 7, ask = 2, value = 700 } })
  same(back[6].result.output, { receivedAt = 1783036800000, sampled = false, approved = true, balance = 700 })
  same({ back[7].id, back[7].result }, { "bye", {} })
end)

test("a settlement that was refused fails the return", function()
  local back = play {
    HELLO, handle(2, 0, "quote", { sku = "A1" }), { id = 1, result = { produce = true } },
    { id = 2, error = { code = -32010, message = "m", data = { kind = "escaped", message = "why" } } },
  }
  same(#back, 4)
  same(back[4].result.raised, { type = "DeterminismError", message = "why" })
end)

test("a settlement that was refused fails the next question, not a later one", function()
  local back = play {
    HELLO, handle(2, 0, "race", {}), { id = 1, result = { produce = true } }, { id = 2, result = { produce = true } },
    { id = 3, result = 10 }, { id = 4, error = { code = -32003, message = "over" } }, { id = 5, result = 20 },
    { id = 6, result = {} },
  }
  same(asked(back[5]), { "respond.settle", { call = 0, ask = 1, value = "far" } })
  same(asked(back[6]), { "now", { call = 0, ask = 3 } })
  same({ #back, back[7].result.raised }, { 7, { type = "CallEnded", message = "over" } })
end)

test("a UUID is sixteen drawn bytes with a version and a variant", function()
  local back = play { HELLO, handle(2, 0, "uuid", {}), { id = 1, result = "ffeeddccbbaa99887766554433221100" },
    handle(3, 1, "uuid", {}), { id = 2, result = ("ff"):rep(16) } }
  same(asked(back[2]), { "random", { call = 0, ask = 0, draw = "bytes", n = 16 } })
  same(back[3].result.output, "ffeeddcc-bbaa-4988-b766-554433221100")
  same(back[5].result.output, "ffffffff-ffff-4fff-bfff-ffffffffffff")
end)

test("handles and a shutdown sent ahead wait for their turn", function()
  local back = play {
    HELLO, handle(2, 0, "now", {}), handle(3, 1, "now", {}), { id = 4, method = "shutdown", params = {} },
    { id = 1, result = 10 }, { id = 2, result = 20 },
  }
  same({ back[3].id, back[3].result.output }, { 2, 10 })
  same({ back[5].id, back[5].result.output }, { 3, 20 })
  same(back[6].id, 4)
end)

test("a cancel fails what is open, and a handle that waits is not run", function()
  local cancelled = { raised = { type = "Cancelled", message = "the call was cancelled" } }
  local back = play {
    HELLO, handle(2, 0, "now", {}), handle(3, 1, "echo", 5), handle(4, 2, "echo", 6),
    { method = "cancel", params = { call = 1 } }, { method = "cancel", params = { call = 0 } },
    { id = 1, error = { code = -32800, message = "cancelled" } },
  }
  same({ back[3].result, back[4].result, back[5].result }, { cancelled, cancelled, { output = 6 } })
end)

test("a window is taken from and reported, and a withdraw takes it back", function()
  local back = play {
    HELLO, handle(2, 0, "noted", null, { now = { 1, 2, 3 } }), handle(3, 1, "draw_two", null, { random = { 0.5 } }),
    { method = "withdraw", params = {} }, { id = 1, result = 4 }, { id = 2, result = 0.75 },
  }
  same(asked(back[2]), { "asked", { call = 0, asks = { { m = "now" } } } })
  same(back[3].method, "note")
  same(asked(back[4]), { "asked", { call = 0, asks = { { m = "now" } } } })
  same(back[5].result.output, { 1, 2 })
  same(asked(back[6]), { "random", { call = 1, ask = 0, draw = "int", low = 1, high = 6 } })
  same(asked(back[7]), { "random", { call = 1, ask = 1 } })
  same(back[8].result.output, { 4, 0.75 })
end)

test("a withdraw takes back what handles that wait were given", function()
  local back = play {
    HELLO, handle(2, 0, "draw_two", null, { random = { 0.5 } }), handle(3, 1, "order", { sku = "A1" },
      { now = { 1 }, random = { 0.5 }, respond = { quote = { { value = { price = 1 } } } } }),
    { method = "withdraw", params = {} }, { id = 1, result = 4 }, { id = 2, result = 0.75 },
    { id = 3, result = 7 }, { id = 4, result = 0.25 }, { id = 5, result = { value = { price = 2 } } },
  }
  same(back[4].result.output, { 4, 0.75 })
  same(back[8].result.output, { 7, 0.25, 2 })
end)

test("a call that is over takes nothing from the feed", function()
  local back = play {
    HELLO, handle(2, 0, "kept", {}), handle(3, 1, "kept", {}, { now = { 1, 2 } }),
    { id = 1, error = { code = -32003, message = "over" } }, handle(4, 2, "clocks", {}), { id = 2, result = 8 },
  }
  same(asked(back[3]), { "now", { call = 0, ask = 0 } })
  same(back[4].result.output, "CallEnded")
  same(back[7].result.output, { 1, 8 })
end)

test("a lane with a name takes from the feed and says so", function()
  local back = play { HELLO, handle(2, 0, "lanes", {}, { now = { 1, 2 } }), { id = 1, result = 8 } }
  same(asked(back[2]), { "asked", { call = 0, asks = { { m = "now" } } } })
  same(asked(back[4]), { "asked", { call = 0, asks = { { m = "now", p = { lane = "worker-1" } } } } })
  same(back[5].result.output, { 1, 8, 2 })
end)

test("a call that is cancelled takes nothing more", function()
  local back = play {
    HELLO, handle(2, 0, "readings", {}), { method = "cancel", params = { call = 0 } },
    { id = 1, error = { code = -32800, message = "cancelled" } }, handle(3, 1, "now", {}, { now = { 7 } }),
  }
  same({ back[3].result.raised.type, back[5].result.output }, { "Cancelled", 7 })
end)

test("a producer of a window is reported, settled and not waited for", function()
  local back = play { HELLO, handle(2, 0, "quote_or_null", { sku = "A1" }, { produce = true }) }
  same(back[2].params.asks, { { m = "respond", p = { key = "quote", args = { "A1" } } } })
  same(back[3].params.asks[1].m, "respond.settle")
  same(back[3].params.asks[1].p, { ask = 0, error = { type = "TimeoutError", message = "no quote" } })
  same(back[4].result.output, { price = null })
end)

test("what is printed, by a child too, is on stderr, and reading finds the end", function()
  local back, _, heard = play {
    HELLO, handle(2, 0, "prints", {}), { id = 1, result = 5 }, handle(3, 1, "reads", {}), handle(4, 2, "echo", 6),
  }
  same({ back[3].result.output, back[4].result.output, back[5].result.output }, { 5, "", 6 })
  for _, text in ipairs { "one\n", '"method":"two"}', "three\n" } do
    same(heard:find(text, 1, true) ~= nil, true, text)
  end
end)

test("a reset makes the handler new", function()
  local back = play {
    HELLO, handle(2, 0, "count", null), handle(3, 1, "count", null),
    { id = 4, method = "reset", params = { constants = {} } }, handle(5, 2, "count", null),
  }
  same({ back[2].result.output, back[3].result.output, back[5].result.output }, { 1, 2, 1 })
end)

-- A file for the host, and what comes of it.
local function hosted(source, frames)
  local file = os.tmpname()
  local written = assert(io.open(file, "w"))
  written:write(source)
  written:close()
  local back, code, heard = play(frames, quoted(ROOT .. "host.lua") .. " " .. quoted(file))
  os.remove(file)
  return back, code, heard
end

test("a reset that fails is answered, and told on stderr", function()
  local source = "return function() return 1 end, { reset = function() error('still busy', 0) end }"
  local back, _, heard = hosted(source, { HELLO, { id = 2, method = "reset", params = { constants = {} } } })
  same({ back[2].error.code, heard }, { -32603, "playhead_client: reset: LuaError: still busy\n" })
end)

test("a file may bring the options of serve", function()
  local source = [[
    local function gone(recorded) return { type = "New", message = recorded.message } end
    local function ask(_, context) return context:respond("k", print) end
    return { ask = ask }, { name = "mine", constants = { eu = true }, revivers = { Gone = gone } }]]
  local recorded = { error = { type = "Gone", message = "m" } }
  local back = hosted(source, { HELLO, handle(2, 0, "ask", {}), { id = 1, result = recorded } })
  same({ back[1].result.handler.name, back[1].result.constants }, { "mine", { eu = true } })
  same(back[3].result.raised, { type = "New", message = "m" })
end)

for name, case in pairs {
  ["does not load"] = { "return function(", "cannot load" },
  ["raises"] = { "print('loading') error('no way')", "no way" },
  ["returns nothing"] = { "local x = 1", "has no handler" },
  ["returns what is no function"] = { "return { charge = 1 }", "cannot serve" },
} do
  test("a file that " .. name .. " is told in words", function()
    local back, code, heard = hosted(case[1], { HELLO })
    same({ #back, code, heard:find(case[2], 1, true) ~= nil }, { 0, 1, true }, heard)
  end)
end

test("an answer that nobody waits for is not kept for a later question", function()
  local back = play { HELLO, { id = 1, result = 5 }, handle(2, 0, "now", {}), { id = 1, result = 7 } }
  same(back[3].result.output, 7)
end)

test("a reading with a fraction stays as it is", function()
  local back = play { HELLO, handle(2, 0, "now", {}), '{"jsonrpc":"2.0","id":1,"result":1783036800000.5}' }
  same(back[3].result.output, 1783036800000.5)
end)

test("mistakes of the daemon are answered with their codes", function()
  local back, code = play {
    { id = 1, method = "handle", params = {} }, HELLO, { id = 2, method = "rewind", params = {} },
    handle(3, 0, "nobody", {}), { id = 4, method = "handle", params = { fn = "echo" } },
    { method = "weather", params = {} }, { id = 99, result = 1 }, "{oops",
  }
  local codes = {}
  for i, frame in ipairs(back) do codes[i] = frame.error and frame.error.code or 0 end
  same(codes, { -32002, 0, -32601, -32602, -32602, -32700 })
  same({ back[6].id, code }, { null, 1 })
end)

test("the end of the input in the middle of a call, and of a frame, is exit code 0 and no answer", function()
  local back, code = play { HELLO, handle(2, 0, "now", {}) }
  same({ #back, code }, { 2, 0 })
  same(select(2, play {}), 0)
end)

test("a frame of 1 MiB and a value 1000 deep come back", function()
  local long = ("x"):rep(2 ^ 20 // 1)
  local deep = ("["):rep(1000) .. ("]"):rep(1000)
  local frame = '{"jsonrpc":"2.0","id":3,"method":"handle","params":{"call":1,"fn":"echo","event":%s,"seq":1}}'
  local back = play { HELLO, handle(2, 0, "echo", long), frame:format(deep) }
  same(back[2].result.output == long, true)
  local levels, value = 0, back[3].result.output
  while value do levels, value = levels + 1, value[1] end
  same(levels, 1000)
end)

test("the host serves a file from any folder", function()
  local file = quoted(ROOT .. "examples/plus_one.lua")
  local back = play({ HELLO, handle(2, 0, "handler", 9007199254740993) }, quoted(ROOT .. "host.lua") .. " " .. file)
  same({ back[1].result.functions, back[1].result.handler.name }, { { "handler" }, "plus_one" })
  same(back[2].result.output, 9007199254740994)
end)
