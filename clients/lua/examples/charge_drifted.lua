-- charge.lua after a change: a balance of exactly 0 is declined, so a recording of the old one diverges.

return function(event, context)
  local at = context:now()
  local sampled = context:random() < 0.2
  local balance = context:respond("account.balance", function() return 1000 - event.amount end)
  return { receivedAt = at, sampled = sampled, approved = balance > 0, balance = balance }
end
