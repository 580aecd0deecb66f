# The handler of charge.sh after a change that nobody noticed: `>= 0` became `> 0`.

handler() {
  local event=$1 amount at sampled=false approved=false
  json.integer "$event" amount && amount=$REPLY
  ctx.now && at=$REPLY
  ctx.random && json.less "$REPLY" 0.2 && sampled=true
  ctx.respond account.balance balance_left "$amount" || return
  ((REPLY > 0)) && approved=true
  REPLY="{\"receivedAt\":$at,\"sampled\":$sampled,\"approved\":$approved,\"balance\":$REPLY}"
}

balance_left() { REPLY=$((1000 - $1)); }
