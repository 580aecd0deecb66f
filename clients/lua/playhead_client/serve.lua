-- A handler is served by one loop that answers what the daemon sends, one call at a time, until the input ends.

local framing = require "playhead_client.framing"
local message = require "playhead_client.message"
local errors = require "playhead_client.errors"
local json = require "playhead_client.json"
local Context = require "playhead_client.context"
local Peer = require "playhead_client.peer"

local VERSION, PROTOCOL = "0.1.0", 1

local Server = {}
Server.__index = Server

local function sorted_names(functions)
  local names = json.array()
  for name in pairs(functions) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- The capabilities of this client among those that are offered. `reset` is for handlers that say how it is done.
local function common(server, offered)
  if type(offered) ~= "table" then return {} end
  return {
    window = offered.window == true and true or nil,
    reset = offered.reset == true and server.reset and true or nil,
  }
end

function Server:initialize(frame)
  local offered = frame.params.protocol
  if self.ready then return message.failure(frame.id, -32600, "initialize has been answered") end
  if not math.type(offered) then return message.failure(frame.id, -32602, "protocol is a number") end
  if offered < PROTOCOL then
    return message.failure(frame.id, -32001, "no common protocol version", { supported = { PROTOCOL } })
  end
  local limits = type(frame.params.limits) == "table" and frame.params.limits or {}
  framing.limit = math.type(limits.frameBytes) == "integer" and limits.frameBytes or framing.limit
  json.depth = math.type(limits.depth) == "integer" and limits.depth or json.depth
  self.ready = true
  local about = json.object("name", self.name, "version", VERSION, "language", "lua", "runtime", _VERSION)
  return message.result(frame.id, json.object(
    "protocol", PROTOCOL, "handler", json.written(about), "functions", sorted_names(self.functions),
    "capabilities", common(self, frame.params.capabilities), "constants", self.constants
  ))
end

-- The result of a call, `output` or `raised`, as JSON text.
local function outcome(context, f, event)
  local returned, value = true, nil
  if not context.state.cancelled then
    returned, value = errors.try(function() return json.encode((f(event, context))) end)
  end
  local settled, refused = pcall(context.conclude, context)
  if not settled then returned, value = false, refused end
  if context.state.cancelled then returned, value = false, errors.Cancelled() end
  if returned then return json.object("output", json.written(value)) end
  return json.object("raised", errors.describe(value))
end

-- Runs a call; one that was cancelled while it waited has a window all the same.
local function run(server, params, f, cancelled)
  local peer = server.peer
  local context = Context.new(peer, params)
  context.state.cancelled = cancelled
  if type(params.window) == "table" then
    peer:take_in(params.window)
    context.state.produce = params.window.produce == true
  end
  peer.state = context.state
  local result = outcome(context, f, params.event)
  peer.state = nil
  context:finish()
  return result
end

function Server:handle(frame)
  local params = frame.params
  local f = type(params.fn) == "string" and self.functions[params.fn]
  if not f then return message.failure(frame.id, -32602, "no function named " .. tostring(params.fn)) end
  if params.event == nil or not math.type(params.call) or not math.type(params.seq) then
    return message.failure(frame.id, -32602, "handle has a call, a seq and an event")
  end
  local answer = message.result(frame.id, run(self, params, f, frame.cancelled))
  if #answer <= framing.limit then return answer end
  local too_large = errors.LimitExceeded(framing.limit, #answer)
  return message.result(frame.id, json.object("raised", errors.describe(too_large)))
end

-- What went wrong in there is for people: it is on stderr.
function Server:reset_all(frame)
  self.peer:clear()
  local made, err = errors.try(self.reset, type(frame.params.constants) == "table" and frame.params.constants or {})
  if made then return message.result(frame.id, "{}") end
  local described = errors.describe(err)
  io.stderr:write("playhead_client: reset: ", described.type, ": ", described.message, "\n")
  return message.failure(frame.id, -32603, "the handler could not be made new", { reference = "stderr" })
end

-- The answer to a request, or nil: a notification that stands in the queue is one that nobody knows.
function Server:answer(frame)
  if frame.kind ~= "request" then return nil end
  if frame.method == "initialize" then return self:initialize(frame) end
  if not self.ready then return message.failure(frame.id, -32002, "initialize has not been answered") end
  if frame.method == "handle" then return self:handle(frame) end
  if frame.method == "shutdown" then return message.result(frame.id, "{}") end
  if frame.method == "reset" and self.reset then return self:reset_all(frame) end
  return message.failure(frame.id, -32601, "no such method")
end

-- Serves a function (by the name `handler`) or a table of functions by their names, and does not return: the end of
-- the input ends the process. Options: `name` of the handler; `constants`, told to the daemon; `revivers`, for each
-- type of error a function that makes what is raised out of what was recorded; `reset(constants)`, where the handler
-- can be made as good as new.
local function serve(functions, options)
  options = options or {}
  if type(functions) == "function" then functions = { handler = functions } end
  if type(functions) ~= "table" or next(functions) == nil then error("serve: a function, or a table of them", 2) end
  for name, f in pairs(functions) do
    if type(name) ~= "string" or type(f) ~= "function" then error("serve: functions by their names", 2) end
  end
  errors.revivers = options.revivers or {}
  local server = setmetatable({
    functions = functions, name = options.name or "handler", constants = options.constants or {},
    reset = options.reset, peer = Peer.new(framing.take()),
  }, Server)
  while true do
    local answer = server:answer(server.peer:next())
    if answer then server.peer:send(answer) end
  end
end

return serve
