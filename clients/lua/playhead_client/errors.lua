-- Every error is a table with a `type` and a `message`, so that one pcall and one look at `type` are enough.
--
-- Lua has no classes of errors: what `error("text")` raises is a text. Such a text leaves a handler as the type
-- LuaError. Its place ("handler.lua:3: ") is not part of the message but evidence beside it (`stack`), for the
-- message is compared, and the place changes whenever a line moves or the program is started from another folder.

local errors = {}

local Error = { __name = "playhead.Error" }
Error.__index = Error
Error.__tostring = function(err) return err.type .. ": " .. err.message end

local function make(name, message, more)
  local err = { type = name, message = message }
  for key, value in pairs(more or {}) do err[key] = value end
  return setmetatable(err, Error)
end

-- An error of the handler's own, the same in every language.
function errors.HandlerError(name, message)
  if type(name) ~= "string" or type(message) ~= "string" then error("HandlerError: a type and a message", 2) end
  return make(name, message)
end

-- What JSON cannot carry; `data.pointer` is its place.
function errors.NotJSON(message, data)
  return make("NotJSON", message, { data = data })
end

-- A message that is none, or an answer that says so.
function errors.ProtocolError(message, code, data)
  return make("ProtocolError", message, { code = code, data = data })
end

function errors.CallEnded(message)
  return make("CallEnded", message or "the call is over", { code = -32003 })
end

function errors.Cancelled()
  return make("Cancelled", "the call was cancelled", { code = -32800 })
end

function errors.LimitExceeded(limit, size)
  local message = ("%d bytes, and a frame has at most %d"):format(size, limit)
  return make("LimitExceeded", message, { code = -32013, data = { limit = limit, size = size } })
end

local RAISED = {
  [-32003] = "CallEnded", [-32010] = "DeterminismError", [-32012] = "Forbidden",
  [-32013] = "LimitExceeded", [-32800] = "Cancelled",
}

-- What a JSON-RPC error raises in the handler that asked.
function errors.from_answer(answer)
  local data = type(answer.data) == "table" and answer.data or nil
  local message = data and type(data.message) == "string" and data.message or answer.message
  return make(RAISED[answer.code] or "ProtocolError", tostring(message), { code = answer.code, data = data })
end

-- Revived errors -----------------------------------------------------------------------------------------------------

-- type -> what makes the error that is raised where one of this type was recorded; an option of `serve`.
errors.revivers = {}

-- A recorded error as the handler gets it. Without a reviver it leaves the handler as what it was recorded as.
function errors.revive(recorded)
  local revive = errors.revivers[recorded.type]
  if revive then return revive(recorded) end
  return make(recorded.type, recorded.message, { args = recorded.args, data = recorded.data, stack = recorded.stack })
end

-- Errors on the wire -------------------------------------------------------------------------------------------------

-- An error text of Lua may hold any bytes, and an error has to be told all the same.
local function as_text(value)
  local text, parts, from = tostring(value), {}, 1
  while true do
    local valid, where = utf8.len(text, from)
    if valid then break end
    parts[#parts + 1] = text:sub(from, where - 1) .. "\u{FFFD}"
    from = where + 1
  end
  return table.concat(parts) .. text:sub(from)
end

-- The E of the protocol: what a caught value is called and says.
function errors.describe(err)
  if type(err) == "table" and type(err.type) == "string" and type(err.message) == "string" then
    return { type = as_text(err.type), message = as_text(err.message), stack = err.place and as_text(err.place) }
  elseif type(err) == "string" or math.type(err) then
    return { type = "LuaError", message = as_text(err) }
  end
  local meta = getmetatable(err)
  local says = type(meta) == "table" and meta.__tostring
  -- tostring would give the address of the table, another one in each run
  return { type = "LuaError", message = says and as_text(err) or ("an error that is a %s"):format(type(err)) }
end

-- Takes the place that Lua put in front of a text off it: a line of a file of which a function is still running.
-- A coroutine that fails puts a second place before the first.
local function with_place(err)
  if type(err) ~= "string" then return err end
  local text, place, level = err, nil, 2
  local info = debug.getinfo(level, "S")
  while info do
    local file = info.short_src .. ":"
    local line, from = text:match("^(%d+): ()", #file + 1)
    if line and text:sub(1, #file) == file then
      place, text = file .. line, text:sub(from)
    else
      level = level + 1
      info = debug.getinfo(level, "S")
    end
  end
  return make("LuaError", text, { place = place })
end

-- pcall, where a text that was raised becomes a LuaError.
function errors.try(f, ...)
  return xpcall(f, with_place, ...)
end

return errors
