-- One side of the conversation: whoever waits for something reads, and what is not for him is kept for later.
--
-- Nothing here runs at the same time as anything else. A frame is read only when somebody wants one: the loop that
-- serves, or a question that waits for its answer. So `cancel` and `withdraw`, which are about what is kept, are
-- done where they are read, and everything else that comes in between stands in the queue in the order it came.

local framing = require "playhead_client.framing"
local message = require "playhead_client.message"
local errors = require "playhead_client.errors"

local Peer = {}
Peer.__index = Peer

function Peer.new(input, output)
  return setmetatable({
    input = input, output = output,
    last_id = 0,      -- of our own requests
    open = {},        -- id -> true: asked, and still of interest
    answers = {},     -- id -> answer: came while another one was waited for
    queue = {},       -- requests and notifications that wait for their turn
    state = nil,      -- the call that runs
    feed = nil,       -- answers given ahead
  }, Peer):clear()
end

-- An empty feed: lanes of the wall clock, of floats, and of each key.
function Peer:clear()
  self.feed = { now = {}, random = {}, respond = {} }
  return self
end

-- Writes a frame that goes out with the next one that is sent.
function Peer:put(text)
  framing.write(self.output, text)
end

function Peer:send(text)
  framing.write(self.output, text)
  self.output:flush()
end

function Peer:flush()
  self.output:flush()
end

-- Asks, and does not wait. `params` is a JSON text.
function Peer:ask(method, params)
  local id = self.last_id + 1
  self:send(message.request(id, method, params))
  self.last_id, self.open[id] = id, true
  return id
end

-- The answer to one of our requests: its result, or nil and the error to raise.
function Peer:wait(id)
  while not self.answers[id] do self:receive() end
  local answer = self.answers[id]
  self:forget(id)
  if answer.error ~= nil then
    local fault = type(answer.error) == "table" and answer.error or { message = "an error that says nothing" }
    return nil, errors.from_answer(fault)
  end
  return answer.result
end

-- Nobody wants the answer any more: it is dropped when it comes.
function Peer:forget(id)
  self.open[id], self.answers[id] = nil, nil
end

-- The next frame that asks or tells something.
function Peer:next()
  while not self.queue[1] do self:receive() end
  return table.remove(self.queue, 1)
end

-- Adds the window of a handle to the feed: the lanes that this client knows.
function Peer:take_in(window)
  local function append(lane, values)
    if type(values) == "table" then table.move(values, 1, #values, #lane + 1, lane) end
  end
  append(self.feed.now, window.now)
  append(self.feed.random, window.random)
  for key, values in pairs(type(window.respond) == "table" and window.respond or {}) do
    self.feed.respond[key] = self.feed.respond[key] or {}
    append(self.feed.respond[key], values)
  end
end

local function withdraw(self)
  self:clear()
  for _, waiting in ipairs(self.queue) do
    local window = waiting.params.window
    if type(window) == "table" then window.now, window.random, window.respond = nil, nil, nil end
  end
end

-- A cancel is of the call that runs, or of one that waits: that one will not run at all. Else the call is over.
local function cancel(self, call)
  if self.state and self.state.call == call then self.state.cancelled = true end
  for _, waiting in ipairs(self.queue) do
    if waiting.method == "handle" and waiting.params.call == call then waiting.cancelled = true end
  end
end

-- nil at the end of the input
local function read_frame(input)
  local line = framing.read(input)
  return line and message.read(line)
end

-- Reads one frame and puts it where it belongs. A frame that is none ends the conversation, and so does the end of
-- the input, whatever the handler is doing; only the first of the two is a failure.
function Peer:receive()
  local read, frame = pcall(read_frame, self.input)
  if not read then
    self:send(message.failure(nil, frame.type == "ProtocolError" and frame.code or -32700, frame.message))
    io.stderr:write("playhead_client: ", frame.message, "\n")
    os.exit(1)
  end
  if not frame then os.exit(0) end
  if frame.kind == "answer" then
    if self.open[frame.id] then self.answers[frame.id] = frame end
  elseif frame.kind == "notification" and frame.method == "withdraw" then
    withdraw(self)
  elseif frame.kind == "notification" and frame.method == "cancel" then
    cancel(self, frame.params.call)
  else
    self.queue[#self.queue + 1] = frame
  end
end

return Peer
