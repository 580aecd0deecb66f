# frozen_string_literal: true

# The conformance program of the Ruby client: the functions of protocol/conformance.md, and nothing else.
#   playhead conformance --command "ruby conformance.rb"
$LOAD_PATH.unshift(File.join(__dir__, "lib"))
require "playhead_client"

made = -> { { price: 990 } }
failing = -> { raise PlayheadClient::HandlerError.new("TimeoutError", "no quote") }
hour = -> { sleep 3600 }
quote = ->(event, ctx) { ctx.respond("quote", args: [event["sku"]], &made) }
quote_failing = ->(event, ctx) { ctx.respond("quote", args: [event["sku"]], &failing) }
kept = nil
counted = 0

functions = {
  nothing: ->(_, _) {},
  echo: ->(event, _) { event },
  plus_one: ->(event, _) { event + 1 },
  now: ->(_, ctx) { ctx.now },
  clocks: ->(_, ctx) { [ctx.now, ctx.monotonic] },
  seq_and_now: ->(_, ctx) { { seq: ctx.seq, at: ctx.now } },
  draws: lambda do |_, ctx|
    [ctx.random, ctx.randint(1, 6), ctx.randbytes(5).unpack1("H*"), ctx.sample(0..9, 3), ctx.random]
  end,
  draw_two: ->(_, ctx) { [ctx.randint(1, 6), ctx.random] },
  uuid: ->(_, ctx) { ctx.uuid },
  charge: lambda do |event, ctx|
    at = ctx.now
    sampled = ctx.random < 0.2
    balance = ctx.respond("account.balance") { 1000 - event["amount"] }
    { receivedAt: at, sampled: sampled, approved: balance >= 0, balance: balance }
  end,
  quote: quote,
  quote_in_eur: ->(event, ctx) { ctx.respond("quote", args: [event["sku"]], kwargs: { currency: "EUR" }, &made) },
  quote_failing: quote_failing,
  quote_or_null: lambda do |event, ctx|
    { price: quote_failing.call(event, ctx) }
  rescue PlayheadClient::HandlerError => e
    raise unless e.type == "TimeoutError"

    { price: nil }
  end,
  slow: ->(_, ctx) { ctx.respond("slow", &hour) },
  declined: ->(_, _) { raise PlayheadClient::HandlerError.new("Declined", "no funds") },
  testify: lambda do |event, ctx|
    ctx.span("charge", amount: event["amount"]) do |span|
      ctx.observe("queue.depth", 17)
      ctx.note("retry", attempt: 2)
      span.outcome = "approved"
    end
    true
  end,
  escaped: lambda do |_, ctx|
    ctx.escaped("socket.connect", "handler.py:12")
    true
  end,
  caught: lambda do |_, ctx|
    at = ctx.now
    %i[now random].each do |ask|
      ctx.public_send(ask)
    rescue StandardError
      # What is asked for is that nothing happens.
    end
    { at: at }
  end,
  prints: lambda do |_, ctx|
    puts "one"
    at = ctx.now
    print '{"jsonrpc":"2.0","method":"two"}'
    IO.for_fd(1, autoclose: false).syswrite("three\n")
    at
  end,
  reads: ->(_, _) { $stdin.read },

  order: ->(event, ctx) { [ctx.now, ctx.random, quote.call(event, ctx)["price"]] },
  readings: ->(_, ctx) { [ctx.now, ctx.now, ctx.monotonic, ctx.randint(1, 6)] },
  noted: lambda do |_, ctx|
    first = ctx.now
    ctx.note("retry", attempt: 2)
    [first, ctx.now]
  end,
  race: lambda do |_, ctx|
    near = ctx.start("near") { "near" }
    far = ctx.start("far") { "far" }
    at = [ctx.now]
    first = far.wait
    at << ctx.now
    { first: first, at: at, last: near.wait }
  end,
  abandon: lambda do |_, ctx|
    ctx.start("slow", &hour)
    "done"
  end,
  kept: lambda do |_, ctx|
    if ctx.seq.zero?
      kept = ctx
      next nil
    end
    begin
      kept.now
    rescue PlayheadClient::CallEnded
      "CallEnded"
    end
  end,
  live: lambda do |_, ctx|
    answer = ctx.respond("live") do
      ctx.now
      ctx.random
      "made"
    end
    [answer, ctx.now]
  end,
  not_json: ->(_, _) { { items: [1, Float::NAN] } },

  lanes: ->(_, ctx) { [ctx.now, ctx.monotonic, ctx.lane("worker-1").now] },
  left_behind: lambda do |_, ctx|
    next nil unless ctx.seq.zero?

    Thread.new do
      sleep 0.001 until ctx.over?
      ctx.now
    rescue PlayheadClient::CallEnded
      # As it should be.
    end
    nil
  end,
  count: ->(_, _) { counted += 1 }
}

reset = lambda do |_constants|
  kept = nil
  counted = 0
end

PlayheadClient.serve(functions, name: "conformance", reset: reset)
