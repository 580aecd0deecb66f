-- A frame is read as what it is, or refused with the code for it. An independent reader reads what is written.

local check = require "check"
local dkjson = require "dkjson"
local message = require "playhead_client.message"
local framing = require "playhead_client.framing"
local json = require "playhead_client.json"
local test, same, raises = check.test, check.same, check.raises

test("frames are written so that another reader reads them", function()
  same(dkjson.decode(message.request(7, "now", json.object("call", 0, "ask", 1, "clock", "monotonic"))),
    { jsonrpc = "2.0", id = 7, method = "now", params = { call = 0, ask = 1, clock = "monotonic" } })
  same(dkjson.decode(message.notification("note", json.object("name", "a\n"))),
    { jsonrpc = "2.0", method = "note", params = { name = "a\n" } })
  same(message.result("a", json.object("output", json.null)), '{"jsonrpc":"2.0","id":"a","result":{"output":null}}')
  same(dkjson.decode(message.failure(1, -32601, "no")),
    { jsonrpc = "2.0", id = 1, error = { code = -32601, message = "no" } })
  same(message.failure(nil, -32700, "no"):find('"id":null', 1, true) ~= nil, true)
end)

test("frames are told apart", function()
  same(message.read('{"jsonrpc":"2.0","id":"1","method":"x","params":{}}').kind, "request")
  same(message.read('{"jsonrpc":"2.0","method":"x"}').kind, "notification")
  same(message.read('{"jsonrpc":"2.0","id":1,"result":null}').kind, "answer")
  same(message.read('{"jsonrpc":"2.0","id":1,"error":{}}').kind, "answer")
end)

for line, code in pairs {
  ["{"] = -32700, ["not json"] = -32700, ["[]"] = -32600, ["1"] = -32600, ["{}"] = -32600,
  ['{"jsonrpc":"2.0"}'] = -32600, ['{"jsonrpc":"1.0","id":1,"result":1}'] = -32600,
  ['{"jsonrpc":"2.0","id":null,"method":"x"}'] = -32600, ['{"jsonrpc":"2.0","id":1.5,"method":"x"}'] = -32600,
  ['{"jsonrpc":"2.0","id":1,"method":7}'] = -32600, ['{"jsonrpc":"2.0","id":1,"result":1,"error":{}}'] = -32600,
} do
  test("refused: " .. line, function() same(raises(message.read, line).code, code) end)
end

local function lines(bytes)
  local file = assert(io.tmpfile())
  file:write(bytes)
  file:seek("set")
  local read = {}
  while true do
    local line = framing.read(file)
    if not line then break end
    read[#read + 1] = line
  end
  file:close()
  return read
end

test("only LF ends a frame, and what the end cuts off is none", function()
  same(lines("a\r\nb\u{2028}\u{85}c\n\n\0\n{cut off"), { "a", "b\u{2028}\u{85}c", "", "\0" })
end)

test("a frame beyond the limit names the limit and the size", function()
  local limit = framing.limit
  framing.limit = 10
  local read, err = pcall(lines, "0123456789\n0123456789A\n")
  local fits = pcall(lines, "0123456789\r\n")
  local written = pcall(framing.write, io.tmpfile(), "0123456789A")
  framing.limit = limit
  same({ read, err.type, err.data, fits, written }, { false, "LimitExceeded", { limit = 10, size = 11 }, true, false })
end)
