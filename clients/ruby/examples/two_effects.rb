# frozen_string_literal: true

# Two questions to the outside, one after the other: what is the price, and is there enough?
def handler(event, ctx)
  at = ctx.now
  price = ctx.respond("quote", args: [event["sku"]]) { 990 }
  stock = ctx.respond("stock", args: [event["sku"]]) { 7 }
  { at: at, price: price, stock: stock, ok: stock >= event["amount"] }
end
