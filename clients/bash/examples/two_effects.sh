# Two questions to the outside, one after the other: what is the price, and is there enough? Objects are made by jq.

handler() {
  local event=$1 sku at price stock
  json.get "$event" sku && sku=$REPLY
  ctx.now && at=$REPLY
  ctx.respond quote --args "[$sku]" constant 990 && price=$REPLY
  ctx.respond stock --args "[$sku]" constant 7 && stock=$REPLY
  ctx.failed && return
  REPLY=$(jq -c "{at: $at, price: $price, stock: $stock, ok: ($stock >= .amount)}" <<<"$event")
}

constant() { REPLY=$1; }
