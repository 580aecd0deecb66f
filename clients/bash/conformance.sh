#!/usr/bin/env bash
# The functions of protocol/conformance.md that are core, and order, whose three questions the benchmarks ask.
#   playhead conformance --level core --command "bash conformance.sh"

source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}lib/playhead_client.sh"

nothing() { :; }

same() { REPLY=$1; }

plus_one() {
  if json.integer "$1"; then
    REPLY=$((REPLY + 1))
  else
    # A float. Nothing here is beyond what a float has exactly.
    ctx.clear
    printf -v REPLY '%.17g' "$(jq -n "$1 + 1")"
  fi
}

clocks() {
  local wall
  ctx.now && wall=$REPLY
  ctx.monotonic && REPLY="[$wall,$REPLY]"
}

seq_and_now() { ctx.now && REPLY="{\"seq\":$PLAYHEAD_SEQ,\"at\":$REPLY}"; }

draws() {
  local drawn
  ctx.random && drawn=$REPLY
  ctx.randint 1 6 && drawn+=,$REPLY
  ctx.randbytes 5 && drawn+=",\"$REPLY\""
  ctx.sample 10 3 && drawn+=,$REPLY
  ctx.random && REPLY="[$drawn,$REPLY]"
}

draw_two() {
  local thrown
  ctx.randint 1 6 && thrown=$REPLY
  ctx.random && REPLY="[$thrown,$REPLY]"
}

uuid() { ctx.uuid && REPLY="\"$REPLY\""; }

balance_left() { REPLY=$((1000 - $1)); }

charge() {
  local at sampled=false amount
  json.integer "$1" amount && amount=$REPLY
  ctx.now && at=$REPLY
  ctx.random && json.less "$REPLY" 0.2 && sampled=true
  ctx.respond account.balance balance_left "$amount" || return
  REPLY=$(jq -cn "{receivedAt: $at, sampled: $sampled, approved: ($REPLY >= 0), balance: $REPLY}")
}

price() { REPLY='{"price":990}'; }
no_quote() { ctx.raise TimeoutError 'no quote'; }

quote() { json.get "$1" sku && ctx.respond quote --args "[$REPLY]" price; }
quote_in_eur() { json.get "$1" sku && ctx.respond quote --args "[$REPLY]" --kwargs '{"currency":"EUR"}' price; }
quote_failing() { json.get "$1" sku && ctx.respond quote --args "[$REPLY]" no_quote; }

order() {
  local at drawn
  ctx.now && at=$REPLY
  ctx.random && drawn=$REPLY
  quote "$1" && json.get "$REPLY" price && REPLY="[$at,$drawn,$REPLY]"
}

quote_or_null() {
  if quote_failing "$1"; then
    REPLY="{\"price\":$REPLY}"
  elif ctx.failed TimeoutError; then
    ctx.clear
    REPLY='{"price":null}'
  fi
}

slow() { ctx.respond slow sleep 3600; }

declined() { ctx.raise Declined 'no funds'; }

testify() {
  local span
  json.get "$1" amount
  ctx.span.begin charge "{\"amount\":$REPLY}"
  span=$REPLY
  ctx.observe queue.depth 17
  ctx.note retry '{"attempt":2}'
  ctx.span.end "$span" '"approved"'
  REPLY=true
}

escaped() { ctx.escaped socket.connect handler.py:12 && REPLY=true; }

caught() {
  local at
  ctx.now && at=$REPLY
  ctx.now || ctx.clear
  ctx.random || ctx.clear
  REPLY="{\"at\":$at}"
}

prints() {
  echo one
  ctx.now
  printf '{"jsonrpc":"2.0","method":"two"}'
  echo three >&1
}

reads() {
  local all
  IFS= read -r -d '' all
  json.quote "$all"
}

served=(nothing echo=same plus_one now=ctx.now clocks seq_and_now draws draw_two uuid charge quote quote_in_eur quote_failing
  quote_or_null slow declined testify escaped caught prints reads order)
playhead_serve --name conformance "${served[@]}"
