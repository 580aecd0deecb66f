-- An error has one type and one message wherever it is raised, caught, told and revived.

local check = require "check"
local errors = require "playhead_client.errors"
local test, same, raises = check.test, check.same, check.raises

local function told(f)
  local _, err = errors.try(f)
  local described = errors.describe(err)
  return { described.type, described.message, described.stack ~= nil }
end

test("HandlerError says what it was given", function()
  local err = errors.HandlerError("Declined", "no funds")
  same({ err.type, err.message, tostring(err) }, { "Declined", "no funds", "Declined: no funds" })
  same(told(function() error(err) end), { "Declined", "no funds", false })
  raises(errors.HandlerError, "Declined")
end)

test("a text loses its place, and nothing but its place", function()
  same(told(function() error("boom") end), { "LuaError", "boom", true })
  same(told(function() error("boom", 0) end), { "LuaError", "boom", false })
  same(told(function() error("http://x:80: refused", 0) end), { "LuaError", "http://x:80: refused", false })
  same(told(function() coroutine.wrap(function() error("boom") end)() end), { "LuaError", "boom", true })
  same(told(function() return nil + 1 end), { "LuaError", "attempt to perform arithmetic on a nil value", true })
end)

test("other values are told without an address", function()
  same(told(function() error({}) end), { "LuaError", "an error that is a table", false })
  same(told(function() error(nil) end), { "LuaError", "an error that is a nil", false })
  same(told(function() error(7) end), { "LuaError", "7", false })
  local named = setmetatable({}, { __tostring = function() return "mine" end })
  same(told(function() error(named) end), { "LuaError", "mine", false })
  same(told(function() error { type = "T", message = "m" } end), { "T", "m", false })
end)

test("a message of bytes is told as text", function()
  same(told(function() error("a\xffb\xc3", 0) end)[2], "a\u{FFFD}b\u{FFFD}")
end)

test("a recorded error is revived under its type, or as its reviver says", function()
  local revived = errors.revive { type = "QuoteGone", message = "gone", data = { id = 7 } }
  same({ revived.type, revived.message, revived.data.id }, { "QuoteGone", "gone", 7 })
  errors.revivers = { QuoteGone = function(recorded) return "revived " .. recorded.message end }
  same(errors.revive { type = "QuoteGone", message = "gone" }, "revived gone")
  errors.revivers = {}
end)

test("the daemon's errors have names", function()
  for code, name in pairs {
    [-32003] = "CallEnded", [-32010] = "DeterminismError", [-32012] = "Forbidden", [-32013] = "LimitExceeded",
    [-32800] = "Cancelled", [-32602] = "ProtocolError",
  } do
    same(errors.from_answer({ code = code, message = "m" }).type, name)
  end
  local err = errors.from_answer { code = -32010, message = "m", data = { kind = "order", message = "why" } }
  same({ err.message, err.data.kind, err.code }, { "why", "order", -32010 })
end)
