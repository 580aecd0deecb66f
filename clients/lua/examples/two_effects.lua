-- Asks for a price and a stock, one after the other.

return function(event, context)
  local at = context:now()
  local price = context:respond("quote", function() return 990 end, { event.sku })
  local stock = context:respond("stock", function() return 7 end, { event.sku })
  return { at = at, price = price, stock = stock, ok = stock >= event.amount }
end
