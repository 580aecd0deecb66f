-- A frame is a request, a notification, an answer with a result or an answer with an error, and nothing else.
--
-- Members have an order, so that a person can read a frame and the daemon finds them where it looks first. `params` and
-- `result` are JSON texts already.

local json = require "playhead_client.json"
local errors = require "playhead_client.errors"

local message = {}

local HEAD = '{"jsonrpc":"2.0",'

function message.request(id, method, params)
  return ('%s"id":%d,"method":"%s","params":%s}'):format(HEAD, id, method, params)
end

function message.notification(method, params)
  return ('%s"method":"%s","params":%s}'):format(HEAD, method, params)
end

function message.result(id, result)
  return HEAD .. '"id":' .. json.encode(id) .. ',"result":' .. result .. "}"
end

-- `id` is nil where a frame could not be read.
function message.failure(id, code, text, data)
  local err = json.object("code", code, "message", text, "data", data)
  return HEAD .. '"id":' .. json.encode(id) .. ',"error":' .. err .. "}"
end

local function is_id(id)
  return type(id) == "string" or math.type(id) == "integer" or tostring(id):find("^%-?%d+$") ~= nil
end

local function invalid(what)
  error(errors.ProtocolError(what, -32600), 0)
end

-- Reads a frame. Around the deepest value there are at most six levels more, those of an answer in a window.
-- What has `method` asks or tells, what has not is an answer; `kind` says which.
function message.read(line)
  local read, frame = pcall(json.decode, line, json.depth + 6)
  if not read then error(errors.ProtocolError(frame.message, -32700), 0) end
  if type(frame) ~= "table" or frame.jsonrpc ~= "2.0" then invalid("the frame is not a JSON-RPC 2.0 message") end
  if frame.id ~= nil and not is_id(frame.id) then invalid("an id is an integer or a text") end
  local answers = (frame.result ~= nil and 1 or 0) + (frame.error ~= nil and 1 or 0)
  if frame.method ~= nil then
    if type(frame.method) ~= "string" or answers > 0 then invalid("a call has a method, and no result") end
    if type(frame.params) ~= "table" then frame.params = {} end
    frame.kind = frame.id ~= nil and "request" or "notification"
  else
    if frame.id == nil or answers ~= 1 then invalid("an answer has an id, and a result or an error") end
    frame.kind = "answer"
  end
  frame.cancelled = false
  return frame
end

return message
