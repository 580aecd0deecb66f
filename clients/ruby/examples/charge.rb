# frozen_string_literal: true

# A tiny governed handler: stamp a time, make a policy roll, do one IO call, each through `ctx` only.
def handler(event, ctx)
  received_at = ctx.now
  sampled = ctx.random < 0.2
  balance = ctx.respond("account.balance") { 1000 - event["amount"] }
  { receivedAt: received_at, sampled: sampled, approved: balance >= 0, balance: balance }
end
