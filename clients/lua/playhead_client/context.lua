-- Whatever a handler learns from outside it learns through its context, one numbered question after another.
--
-- A context is of one call. It blocks: a question is sent and its answer waited for. Two questions can be open all the
-- same, with `start` and `wait` in place of `respond`. Inside a producer the context is live: time and chance are the
-- machine's, and nothing is sent.

local framing = require "playhead_client.framing"
local json = require "playhead_client.json"
local message = require "playhead_client.message"
local errors = require "playhead_client.errors"
local live = require "playhead_client.live"

local Context = {}
Context.__index = Context

-- Items of a report are told when they have come to this, so that no frame of them comes near the largest.
local FULL = 262144
-- What stands around the members of a question, at most.
local ROOM = 200

-- What the contexts of one call share: those of its lanes too.
local function new_state(peer, params)
  return {
    peer = peer, call = params.call,
    asks = 0,           -- the number of the next question
    taken = {},         -- texts of what was taken from the feed, or is produced unasked, and not yet reported
    taken_bytes = 0,
    open = {},          -- ids of questions that no one has waited for yet
    settling = {},      -- ids of settlements that have not been answered yet
    spans = 0,
    produce = false,    -- the window says that answers are produced here
    live = false, cancelled = false, ended = false,
  }
end

function Context.new(peer, params)
  local about = { seq = params.seq, call = params.call, fn = params.fn, state = new_state(peer, params) }
  return setmetatable(about, Context)
end

-- The same context, asking in a lane of its own: that of a task whose order among the others says nothing.
function Context:lane(name)
  if type(name) ~= "string" then error("lane: the name is a text", 2) end
  return setmetatable({ seq = self.seq, call = self.call, fn = self.fn, state = self.state, lane_name = name }, Context)
end

-- Asking -------------------------------------------------------------------------------------------------------------

-- What was taken is told before anything else of the call is sent, and goes out with it.
local function report(state)
  if #state.taken == 0 then return end
  local items = table.concat(state.taken, ",")
  state.taken, state.taken_bytes = {}, 0
  state.peer:put(message.notification("asked", ('{"call":%d,"asks":[%s]}'):format(state.call, items)))
end

local function note_taken(state, item)
  if state.taken_bytes + #item > FULL then report(state) end
  state.taken[#state.taken + 1] = item
  state.taken_bytes = state.taken_bytes + #item
end

local function fits(text)
  if #text > framing.limit - ROOM then error(errors.LimitExceeded(framing.limit, #text), 0) end
  return text
end

-- Numbers a question and sends it, as one step. Further members are given as a name, a value, and so on.
local function ask(self, method, ...)
  local state = self.state
  local params = json.object("call", state.call, "ask", state.asks, "lane", self.lane_name, ...)
  report(state)
  local id = state.peer:ask(method, params)
  state.asks = state.asks + 1
  state.open[id] = true
  return id
end

-- A settlement is not waited for. Where it was refused, that is raised by whatever looks next.
local function look_at_settlements(state, waiting)
  for i = #state.settling, 1, -1 do
    local id = state.settling[i]
    if waiting or state.peer.answers[id] then
      table.remove(state.settling, i)
      local _, refused = state.peer:wait(id)
      if refused then error(refused, 0) end
    end
  end
end

local function wait(self, id)
  local state = self.state
  local result, refused = state.peer:wait(id)
  state.open[id] = nil
  look_at_settlements(state, false)
  if refused then error(refused, 0) end
  return result
end

-- Whether the call has anything but by asking: one that is over or cancelled asks, and is refused.
local function may_take(state)
  return not (state.ended or state.cancelled)
end

-- What `asked` says of a question: with the members that its request would have had.
local function item(self, method, ...)
  local params = json.object("lane", self.lane_name, ...)
  if params == "{}" then return ('{"m":"%s"}'):format(method) end
  return ('{"m":"%s","p":%s}'):format(method, params)
end

-- The first value of a lane of the feed, in place of asking; nil if there is none.
local function take(self, lane, method, ...)
  local state = self.state
  if not lane or #lane == 0 or not may_take(state) then return nil end
  local taken = fits(item(self, method, ...))
  state.asks = state.asks + 1
  note_taken(state, taken)
  return table.remove(lane, 1)
end

-- Milliseconds of the wall clock since the Unix epoch.
function Context:now()
  if self.state.live then return live.now() end
  local reading = take(self, self.state.peer.feed.now, "now")
  if reading ~= nil then return reading end
  return wait(self, ask(self, "now"))
end

-- Milliseconds of a clock that only goes forward.
function Context:monotonic()
  if self.state.live then return live.monotonic() end
  return wait(self, ask(self, "now", "clock", "monotonic"))
end

-- A float in [0, 1).
function Context:random()
  if self.state.live then return live.random() end
  local draw = take(self, self.state.peer.feed.random, "random")
  if draw ~= nil then return draw end
  return wait(self, ask(self, "random"))
end

-- An integer from `low` to `high`.
function Context:randint(low, high)
  if self.state.live then return live.randint(low, high) end
  return wait(self, ask(self, "random", "draw", "int", "low", low, "high", high))
end

-- A string of `n` bytes.
function Context:randbytes(n)
  if self.state.live then return live.randbytes(n) end
  local hex = wait(self, ask(self, "random", "draw", "bytes", "n", n))
  return (hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

-- `k` different items of a list, in the order drawn; of an integer n, `k` different numbers from 0 to n - 1.
function Context:sample(items, k)
  local n = type(items) == "table" and #items or items
  local positions = self.state.live and live.sample(n, k)
    or wait(self, ask(self, "random", "draw", "sample", "n", n, "k", k))
  local drawn = json.array()
  for i, position in ipairs(positions) do drawn[i] = type(items) == "table" and items[position + 1] or position end
  return drawn
end

-- A UUID of version 4, in lower case, made of sixteen drawn bytes.
function Context:uuid()
  local bytes = { self:randbytes(16):byte(1, 16) }
  bytes[7] = bytes[7] & 0x0F | 0x40
  bytes[9] = bytes[9] & 0x3F | 0x80
  return (("xxxx-xx-xx-xx-xxxxxx"):gsub("x", "%%02x")):format(table.unpack(bytes))
end

-- Answers from outside -----------------------------------------------------------------------------------------------

local Question = {}
Question.__index = Question

-- Tells what a producer made, as the member `name`: in its place among what was taken, where nobody waits for it.
local function settle(question, name, text)
  local state = question.context.state
  if question.here then
    local params = json.object("ask", question.number, name, json.written(text))
    note_taken(state, ('{"m":"respond.settle","p":%s}'):format(params))
  else
    report(state)
    local params = json.object("call", state.call, "ask", question.number, name, json.written(text))
    state.settling[#state.settling + 1] = state.peer:ask("respond.settle", params)
  end
end

-- Runs the producer. Its value makes a trip through JSON, so that the handler gets the same shape as on replay, and
-- its error is revived for the same reason.
local function produce(question)
  local state = question.context.state
  state.live = true
  local made, value = errors.try(function() return fits(json.encode((question.producer()))) end)
  state.live = false
  if made then
    settle(question, "value", value)
    return { value = json.decode(value) }
  end
  local described = errors.describe(value)
  settle(question, "error", json.encode(described))
  return { error = described }
end

local function receive(question)
  local self = question.context
  if self.state.ended then error(errors.CallEnded(), 0) end
  if question.given then return question.given end
  if question.here then return produce(question) end
  local answer = wait(self, question.id)
  if type(answer) ~= "table" then error(errors.ProtocolError("an answer to respond is an object"), 0) end
  if answer.value == nil and answer.error == nil and answer.produce then return produce(question) end
  return answer
end

-- Waits for the answer: returns the value, or raises the error that was recorded. May be called more than once.
function Question:wait()
  if not self.outcome then self.outcome = receive(self) end
  if self.outcome.value ~= nil then return self.outcome.value end
  error(errors.revive(self.outcome.error), 0)
end

-- In a producer there is nothing to ask: the inner producer is run when it is waited for.
local LiveQuestion = {}
LiveQuestion.__index = LiveQuestion

function LiveQuestion:wait()
  return self.producer()
end

-- Arguments that are empty are none.
local function given(arguments)
  return arguments and next(arguments) ~= nil and arguments or nil
end

-- Asks and does not wait: `wait` of what is returned does, and runs the producer if it has to.
function Context:start(key, producer, args, kwargs)
  if type(key) ~= "string" then error("respond: the key is a text", 2) end
  if type(producer) ~= "function" then error("respond: the producer is a function", 2) end
  local state = self.state
  if state.live then return setmetatable({ producer = producer }, LiveQuestion) end
  args, kwargs = given(args), given(kwargs)
  local question = setmetatable({ context = self, producer = producer, number = state.asks }, Question)
  question.given = take(self, state.peer.feed.respond[key], "respond", "key", key, "args", args, "kwargs", kwargs)
  if question.given then return question end
  if state.produce and may_take(state) then
    question.here = true
    local told = fits(item(self, "respond", "key", key, "args", args, "kwargs", kwargs))
    state.asks = state.asks + 1
    note_taken(state, told)
    -- It is known to the daemon whatever the producer does to this process.
    report(state)
    state.peer:flush()
  else
    question.id = ask(self, "respond", "key", key, "args", args, "kwargs", kwargs)
  end
  return question
end

-- The outcome of something outside: on record that of the producer, on replay the recorded one.
function Context:respond(key, producer, args, kwargs)
  return self:start(key, producer, args, kwargs):wait()
end

-- Testimony ----------------------------------------------------------------------------------------------------------

-- Members are given as a name, a value, and so on; one that is nil is left out.
local function tell(self, method, ...)
  local state = self.state
  if state.live then return end
  local text = message.notification(method, json.object("call", state.call, ...))
  report(state)
  state.peer:send(text)
end

-- Says something about what the handler does.
function Context:note(name, data)
  tell(self, "note", "name", name, "data", data, "lane", self.lane_name)
end

-- Says what the handler believes about the world.
function Context:observe(name, value, at)
  tell(self, "observe", "name", name, "value", value == nil and json.null or value, "at", at)
end

-- Says that a live call went out while replaying. `where` is file and line of the handler's code.
function Context:escaped(key, where)
  tell(self, "escaped", "key", key, "where", where)
end

local Span = {}
Span.__index = Span

-- Begins a piece of work; `finish` of what is returned ends it, and so does the end of its block where it stands in
-- `local span <close> = context:span(..)`.
function Context:span(name, data)
  local state = self.state
  state.spans = state.spans + 1
  local span = setmetatable({ context = self, sid = state.spans, name = name }, Span)
  tell(self, "span", "sid", span.sid, "phase", "begin", "name", name, "data", data, "lane", self.lane_name)
  return span
end

function Span:finish(outcome)
  if self.finished then return end
  self.finished = true
  local lane = self.context.lane_name
  tell(self.context, "span", "sid", self.sid, "phase", "end", "name", self.name, "outcome", outcome, "lane", lane)
end

function Span:__close(err)
  self:finish(err ~= nil and "error" or "ok")
end

-- The end of the call ------------------------------------------------------------------------------------------------

-- What was taken is told and what was settled is known. Raises the error of a settlement that was refused.
function Context:conclude()
  report(self.state)
  look_at_settlements(self.state, true)
end

-- The call is over: what is open is forgotten, and the producers with it.
function Context:finish()
  local state = self.state
  state.ended = true
  for id in pairs(state.open) do state.peer:forget(id) end
  for _, id in ipairs(state.settling) do state.peer:forget(id) end
end

return Context
