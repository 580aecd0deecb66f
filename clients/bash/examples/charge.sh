# The handler of incident-4211: stamps a time, makes a policy roll, does one call to the outside.

handler() {
  local event=$1 amount at sampled=false approved=false
  json.integer "$event" amount && amount=$REPLY
  ctx.now && at=$REPLY
  ctx.random && json.less "$REPLY" 0.2 && sampled=true
  ctx.respond account.balance balance_left "$amount" || return
  ((REPLY >= 0)) && approved=true
  REPLY="{\"receivedAt\":$at,\"sampled\":$sampled,\"approved\":$approved,\"balance\":$REPLY}"
}

balance_left() { REPLY=$((1000 - $1)); }
