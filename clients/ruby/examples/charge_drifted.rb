# frozen_string_literal: true

# The handler of charge.rb after a change that nobody noticed: `>= 0` became `> 0`.
def handler(event, ctx)
  received_at = ctx.now
  sampled = ctx.random < 0.2
  balance = ctx.respond("account.balance") { 1000 - event["amount"] }
  { receivedAt: received_at, sampled: sampled, approved: balance > 0, balance: balance }
end
