-- Approves a charge if the balance allows it.

return function(event, context)
  local at = context:now()
  local sampled = context:random() < 0.2
  local balance = context:respond("account.balance", function() return 1000 - event.amount end)
  return { receivedAt = at, sampled = sampled, approved = balance >= 0, balance = balance }
end
