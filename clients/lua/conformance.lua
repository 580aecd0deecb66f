-- The conformance program: each function is a few lines, and none of them knows which conversation is played.

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. here .. "?/init.lua;" .. package.path

local playhead = require "playhead_client"
playhead.take_stdio()

local null, HandlerError = playhead.null, playhead.HandlerError

local kept, calls

local function forget_everything()
  kept, calls = nil, 0
end
forget_everything()

local function price() return { price = 990 } end
local function no_quote() error(HandlerError("TimeoutError", "no quote")) end
local function an_hour() os.execute("sleep 3600") end

local functions = {}

function functions.nothing() end

function functions.echo(event) return event end

function functions.plus_one(event) return event + 1 end

function functions.now(_, context) return context:now() end

function functions.clocks(_, context)
  local wall = context:now()
  return { wall, context:monotonic() }
end

function functions.seq_and_now(_, context) return { seq = context.seq, at = context:now() } end

local function hex(bytes)
  return (bytes:gsub(".", function(one) return ("%02x"):format(one:byte()) end))
end

function functions.draws(_, context)
  local first = context:random()
  local die = context:randint(1, 6)
  local bytes = hex(context:randbytes(5))
  local positions = context:sample(10, 3)
  return { first, die, bytes, positions, context:random() }
end

function functions.draw_two(_, context)
  local die = context:randint(1, 6)
  return { die, context:random() }
end

function functions.uuid(_, context) return context:uuid() end

function functions.charge(event, context)
  local at = context:now()
  local sampled = context:random() < 0.2
  local balance = context:respond("account.balance", function() return 1000 - event.amount end)
  return { receivedAt = at, sampled = sampled, approved = balance >= 0, balance = balance }
end

function functions.quote(event, context) return context:respond("quote", price, { event.sku }) end

function functions.quote_in_eur(event, context)
  return context:respond("quote", price, { event.sku }, { currency = "EUR" })
end

function functions.quote_failing(event, context) return context:respond("quote", no_quote, { event.sku }) end

function functions.quote_or_null(event, context)
  local answered, answer = pcall(context.respond, context, "quote", no_quote, { event.sku })
  if answered then return { price = answer } end
  if answer.type == "TimeoutError" then return { price = null } end
  error(answer, 0)
end

function functions.slow(_, context) return context:respond("slow", an_hour) end

function functions.declined() error(HandlerError("Declined", "no funds")) end

function functions.testify(event, context)
  local span = context:span("charge", { amount = event.amount })
  context:observe("queue.depth", 17)
  context:note("retry", { attempt = 2 })
  span:finish("approved")
  return true
end

function functions.escaped(_, context)
  context:escaped("socket.connect", "handler.py:12")
  return true
end

function functions.caught(_, context)
  local at = context:now()
  pcall(context.now, context)
  pcall(context.random, context)
  return { at = at }
end

function functions.prints(_, context)
  print("one")
  local at = context:now()
  io.write('{"jsonrpc":"2.0","method":"two"}')
  os.execute("echo three") -- Lua itself has no descriptors; a program that it starts has
  return at
end

function functions.reads() return io.read("a") end

function functions.order(event, context)
  local at, draw = context:now(), context:random()
  return { at, draw, context:respond("quote", price, { event.sku }).price }
end

function functions.readings(_, context)
  local first, second = context:now(), context:now()
  local monotonic = context:monotonic()
  return { first, second, monotonic, context:randint(1, 6) }
end

function functions.noted(_, context)
  local a = context:now()
  context:note("retry", { attempt = 2 })
  return { a, context:now() }
end

-- A producer runs when it is waited for, so the answer of far is waited for first.
function functions.race(_, context)
  local near = context:start("near", function() return "near" end)
  local far = context:start("far", function() return "far" end)
  local t = context:now()
  local first = far:wait()
  local u = context:now()
  return { first = first, at = { t, u }, last = near:wait() }
end

function functions.abandon(_, context)
  context:start("slow", an_hour)
  return "done"
end

function functions.kept(_, context)
  if context.seq == 0 then
    kept = context
    return
  end
  local _, err = pcall(kept.now, kept)
  return err.type
end

function functions.live(_, context)
  local a = context:respond("live", function()
    context:now()
    context:random()
    return "made"
  end)
  return { a, context:now() }
end

function functions.not_json() return { items = { 1, 0 / 0 } } end

function functions.lanes(_, context)
  local wall, monotonic = context:now(), context:monotonic()
  return { wall, monotonic, context:lane("worker-1"):now() }
end

function functions.count()
  calls = calls + 1
  return calls
end

playhead.serve(functions, { name = "conformance", reset = forget_everything })
