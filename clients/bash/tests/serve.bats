# Real processes over real pipes. The conversations of the protocol are played by `playhead conformance`.

bats_require_minimum_version 1.5.0
load helper

@test "a file is served by its functions, and says what it is" {
  handler_file <<<'CONSTANTS="{\"version\": 3}"; declare -A FUNCTIONS=([refund now]=back); back() { REPLY="[$PLAYHEAD_SEQ,$PLAYHEAD_CALL,\"$PLAYHEAD_FN\"]"; }; handler() { REPLY=$1; }'
  holds '"name":"file","version":"0.1.0","language":"bash","runtime":"Bash '
  holds '"capabilities":{},"constants":{"version":3}}'
  holds '"refund now"'
  call 2 'refund now' 1
  output 2 '[0,7,"refund now"]'
  call 3 handler '{"a":1e2}'
  output 3 '{"a":1e2}'
  call 4 back 1
  holds '"error":{"code":-32602'
  over
}

@test "names in an array are served too, and no handler is needed" {
  handler_file <<<'FUNCTIONS=(a b); a() { REPLY=1; }; b() { REPLY=2; }'
  call 2 b null
  output 2 2
  over
}

@test "a file that cannot be served ends with 1 and says why" {
  echo 'handler( {' >"$BATS_TEST_TMPDIR/file.sh"
  run -1 bash "$CLIENT/host.sh" "$BATS_TEST_TMPDIR/file.sh" </dev/null
  [[ $output == *'syntax error'* ]]
  : >"$BATS_TEST_TMPDIR/file.sh"
  run -1 bash "$CLIENT/host.sh" "$BATS_TEST_TMPDIR/file.sh" </dev/null
  [[ $output == *'has no handler'* ]]
  echo 'FUNCTIONS=(nobody)' >"$BATS_TEST_TMPDIR/file.sh"
  run -1 bash "$CLIENT/host.sh" "$BATS_TEST_TMPDIR/file.sh" </dev/null
  [[ $output == *'there is no function nobody'* ]]
  run -1 bash "$CLIENT/host.sh" "$BATS_TEST_TMPDIR/none.sh" </dev/null
  [[ $output == *'no such handler file'* ]]
}

@test "what a producer asks is answered live" {
  handler_file <<'END'
handler() { ctx.respond live made && local answer=$REPLY && ctx.now && REPLY="[$answer,$REPLY]"; }
made() {
  local low=0
  ctx.now && ((REPLY > 1500000000000)) && ((++low))
  ctx.monotonic && ((REPLY > 0)) && ((++low))
  ctx.random && json.less "$REPLY" 1 && ((++low))
  ctx.randint -3 -3 && ((REPLY == -3)) && ((++low))
  ctx.randbytes 20 && ((${#REPLY} == 40)) && ((++low))
  ctx.sample 4 4 && [[ $REPLY == *0* && $REPLY == *1* && $REPLY == *2* && $REPLY == *3* ]] && ((++low))
  ctx.uuid && [[ $REPLY =~ ^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$ ]] && ((++low))
  ctx.note 'not told'
  ctx.respond inner inside && ((REPLY == 5)) && ((++low))
  REPLY=$low
}
inside() { REPLY=5; }
END
  call 2 handler 1
  said '{"jsonrpc":"2.0","id":1,"method":"respond","params":{"call":7,"ask":0,"key":"live"}}'
  answer 1 '{"produce":true}'
  said '{"jsonrpc":"2.0","id":2,"method":"respond.settle","params":{"call":7,"ask":0,"value":8}}'
  next
  said '{"jsonrpc":"2.0","id":3,"method":"now","params":{"call":7,"ask":1}}'
  say '{"jsonrpc":"2.0","id":2,"result":{}}'
  answer 3 1.5
  output 2 '[8,1.5]'
  over
}

@test "a command's output is an answer, and what it says on record is as on replay" {
  handler_file <<<'handler() { ctx.respond k --args "[ 1 ]" --kwargs "{\"a\": 2}" --stdout echo "$1"; }'
  call 2 handler '"{\"n\": 9007199254740993, \"t\": \"\\u00e9\"}"'
  said '{"jsonrpc":"2.0","id":1,"method":"respond","params":{"call":7,"ask":0,"key":"k","args":[1],"kwargs":{"a":2}}}'
  answer 1 '{"produce":true}'
  holds '"value":"{\"n\": 9007199254740993, \"t\": \"\\u00e9\"}"'
  answer 2 '{}'
  output 2 '"{\"n\": 9007199254740993, \"t\": \"\\u00e9\"}"'
  over
}

@test "a value is handed over without its spaces, as it will come on replay" {
  handler_file <<<'handler() { ctx.respond k made; }; made() { REPLY="{ \"a\" : [1, \"\\u00e9\"] }"; }'
  call 2 handler 1
  answer 1 '{"produce":true}'
  holds '"value":{"a":[1,"é"]}}'
  answer 2 '{}'
  output 2 '{"a":[1,"é"]}'
  over
}

@test "a producer that fails raises its status, and one that says why its error" {
  handler_file <<'END'
FUNCTIONS=(status says junk)
status() { ctx.respond k --stdout bash -c 'exit 6'; }
says() { ctx.respond k failing || { ctx.failed TimeoutError && ctx.clear && REPLY='"late"'; }; }
failing() { ctx.raise TimeoutError 'no "quote"' '{ "id": 7 }'; }
junk() { ctx.respond k --stdout echo '[1, oops]'; }
END
  call 2 status 1
  answer 1 '{"produce":true}'
  holds '"error":{"type":"ExitStatus","message":"bash: 6"}}'
  answer 2 '{}'
  raised 2 '{"type":"ExitStatus","message":"bash: 6"}'
  call 3 says 1
  answer 3 '{"produce":true}'
  holds '"error":{"type":"TimeoutError","message":"no \"quote\"","data":{"id":7}}}'
  answer 4 '{}'
  output 3 '"late"'
  call 4 says 1
  answer 5 '{"error":{"type":"TimeoutError","message":""}}'
  output 4 '"late"'
  call 5 junk 1
  answer 6 '{"produce":true}'
  holds '"error":{"type":"NotJSON","message":"k/1: what the producer gave is no JSON"}}'
  answer 7 '{}'
  holds '"raised":{"type":"NotJSON"'
  call 6 says 1
  answer 8 '{"error":{"type":"O\u0000dd","message":"th\u0000en","args":[1]}}'
  raised 6 '{"type":"O\u0000dd","message":"th\u0000en","args":[1]}'
  over
}

@test "after an error nothing is asked, and the handler has raised it" {
  handler_file <<<'handler() { ctx.now; ctx.random; ctx.note n; ctx.respond k true; REPLY=1; }'
  call 2 handler 1
  said '{"jsonrpc":"2.0","id":1,"method":"now","params":{"call":7,"ask":0}}'
  say '{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"-","data":{"kind":"exhausted","message":"too often"}}}'
  next
  raised 2 '{"type":"DeterminismError","message":"too often","data":{"kind":"exhausted"}}'
  over
}

@test "an output that is no JSON is refused with its place, and so is one that is too large" {
  handler_file 5000 <<<'handler() { json.text "$1"; }; FUNCTIONS=(large fails); large() { printf -v REPLY "%5000s" ""; REPLY="\"$REPLY\""; }; fails() { return 3; }'
  call 2 handler '"{\"items\":[1,NaN]}"'
  raised 2 '{"type":"NotJSON","message":"the output: /items/1: this is no JSON"}'
  call 3 handler '""'
  raised 3 '{"type":"NotJSON","message":"the output: this is no JSON"}'
  call 4 large 1
  holds '"raised":{"type":"LimitExceeded"'
  call 5 fails 1
  raised 5 '{"type":"ExitStatus","message":"fails: 3"}'
  over
}

@test "an error that answers a settlement fails the next question, or the return" {
  handler_file <<<'FUNCTIONS=(asks returns); made() { REPLY=1; }; asks() { ctx.respond k made; ctx.now; }; returns() { ctx.respond k made; }'
  call 2 asks 1
  answer 1 '{"produce":true}'
  next
  say '{"jsonrpc":"2.0","id":2,"error":{"code":-32012,"message":"no"}}'
  answer 3 5
  raised 2 '{"type":"Forbidden","message":"no"}'
  call 3 returns 1
  answer 4 '{"produce":true}'
  say '{"jsonrpc":"2.0","id":5,"error":{"code":-32012,"message":"no"}}'
  next
  raised 3 '{"type":"Forbidden","message":"no"}'
  over
}

@test "a cancel that came while a producer ran is obeyed when it is done" {
  handler_file <<<'handler() { ctx.respond k --stdout sh -c "sleep 0.3; echo 1"; }; FUNCTIONS=(same); same() { REPLY=$1; }'
  call 2 handler 1
  say '{"jsonrpc":"2.0","id":1,"result":{"produce":true}}'
  say '{"jsonrpc":"2.0","method":"cancel","params":{"call":7}}'
  next
  raised 2 '{"type":"Cancelled","message":"the call was cancelled"}'
  call 3 same 5
  output 3 5
  over
}

@test "what is printed goes to stderr, and what a producer starts has no other descriptors" {
  handler_file <<<'echo loading; handler() { echo here; cat; ctx.respond k --stdout bash -c "ls -l /dev/fd/ >&2; echo 1"; }'
  call 2 handler 1
  answer 1 '{"produce":true}'
  answer 2 '{}'
  output 2 1
  over
  [[ $(printed) == $'loading\nhere\n'*/dev/null* && $(printed) != *"$BATS_TEST_TMPDIR/"[tf]* ]]
}

@test "a subshell asks nothing" {
  handler_file <<<'handler() { local at; at=$(ctx.now; echo "<$REPLY>"); REPLY="\"$at\""; }'
  call 2 handler 1
  output 2 '"<>"'
  over
  [[ $(printed) == *'now in a subshell'* ]]
}

@test "-e and -u of a file, and another locale, change nothing" {
  handler_file <<<'set -euo pipefail; LC_ALL=C.UTF-8; IFS=,; shopt -s nocasematch; handler() { LC_ALL=C.UTF-8; false; echo "$nobody"; ctx.now; }'
  call 2 handler '{"é":1}'
  answer 1 5
  output 2 5
  call 3 handler '"é"'
  answer 2 6
  output 3 6
  over
}

@test "what is told is told, and a span has the name that it began with" {
  handler_file <<<'handler() { ctx.span.begin "a \"b\"" "{ \"n\": 1 }"; local span=$REPLY; ctx.observe q 17; ctx.note retry; ctx.escaped k; ctx.span.end "$span" "[ 1 ]"; REPLY=true; }'
  call 2 handler 1
  said '{"jsonrpc":"2.0","method":"span","params":{"call":7,"sid":1,"phase":"begin","name":"a \"b\"","data":{"n":1}}}'
  next
  said '{"jsonrpc":"2.0","method":"observe","params":{"call":7,"name":"q","value":17}}'
  next
  said '{"jsonrpc":"2.0","method":"note","params":{"call":7,"name":"retry"}}'
  next
  said '{"jsonrpc":"2.0","method":"escaped","params":{"call":7,"key":"k"}}'
  next
  said '{"jsonrpc":"2.0","method":"span","params":{"call":7,"sid":1,"phase":"end","name":"a \"b\"","outcome":[1]}}'
  next
  output 2 true
  over
}

@test "what needs an integer, or JSON, refuses anything else before it asks" {
  handler_file <<<'FUNCTIONS=(int args note); int() { ctx.randint 1 "a[\$(exit)]"; }; args() { ctx.respond k --args "{}" true; }; note() { ctx.note n "[1,x]"; }'
  call 2 int 1
  holds '"raised":{"type":"TypeError"'
  call 3 args 1
  raised 3 '{"type":"NotJSON","message":"args: begins with ["}'
  call 4 note 1
  raised 4 '{"type":"NotJSON","message":"data/1: this is no JSON"}'
  over
}

@test "a carriage return before the line end is ignored, and ids come back as they were" {
  handler_file <<<'handler() { :; }'
  say $'{"id":"a \\"b","params":{},"method":"shutdown","jsonrpc":"2.0"}\r'
  next
  said '{"jsonrpc":"2.0","id":"a \"b","result":{}}'
  over
}

@test "a frame that cannot be read ends the conversation" {
  handler_file <<<'handler() { :; }'
  say '{"jsonrpc":"2.0",'
  next
  holds '"id":null,"error":{"code":-32700'
  run wait "$pid"
  [[ $status == 1 ]]
  pid=
}

@test "an id that is none ends the conversation" {
  handler_file <<<'handler() { :; }'
  say '{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}'
  next
  holds '"id":null,"error":{"code":-32600'
  run wait "$pid"
  [[ $status == 1 ]]
  pid=
}

@test "a reading with a fraction stays as it is" {
  handler_file <<<'handler() { ctx.now; }'
  call 2 handler null
  answer 1 1783036800000.5
  output 2 1783036800000.5
  over
}

@test "answers that nobody waits for are dropped" {
  handler_file <<<'handler() { :; }'
  for id in 77 '"1"' null -1 2.5; do say '{"jsonrpc":"2.0","id":'"$id"',"result":1}'; done
  say '{"jsonrpc":"2.0","id":"s","method":"shutdown","params":{}}'
  next
  said '{"jsonrpc":"2.0","id":"s","result":{}}'
  over
}

@test "a daemon that is gone is no signal" {
  handler_file <<<'handler() { :; }'
  exec {from}<&-
  say '{"jsonrpc":"2.0","id":2,"method":"shutdown","params":{}}'
  wait "$pid"
  pid=
}
