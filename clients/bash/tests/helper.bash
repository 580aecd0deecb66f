# The daemon's side of a conversation with a program of its own process, line by line.

CLIENT=${BATS_TEST_DIRNAME%/*}
VECTORS=$CLIENT/../../protocol/vectors

# start FILE: hosts it, and initializes. `line` is what it last said.
start() {
  mkfifo "$BATS_TEST_TMPDIR/to" "$BATS_TEST_TMPDIR/from"
  bash "$CLIENT/host.sh" "$1" <"$BATS_TEST_TMPDIR/to" >"$BATS_TEST_TMPDIR/from" 2>"$BATS_TEST_TMPDIR/printed" 3>&- &
  pid=$!
  exec {to}>"$BATS_TEST_TMPDIR/to" {from}<"$BATS_TEST_TMPDIR/from"
  say "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocol\":1,\"capabilities\":{\"window\":true,\"reset\":true},\"limits\":{\"frameBytes\":${2-67108864}}}}"
  next
}

# A file that is hosted: what stands on stdin.
handler_file() {
  cat >"$BATS_TEST_TMPDIR/file.sh"
  start "$BATS_TEST_TMPDIR/file.sh" "$@"
}

say() { printf '%s\n' "$1" >&"$to"; }

next() {
  IFS= read -r -t 20 -u "$from" line || line='(the end)'
}

# call ID FUNCTION EVENT
call() {
  say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"handle\",\"params\":{\"call\":$(($1 + 5)),\"fn\":\"$2\",\"event\":$3,\"seq\":$(($1 - 2))}}"
  next
}

# answer ID RESULT
answer() {
  say "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"
  next
}

said() { [[ $line == "$1" ]] || { printf '%s\nnot: %s\n' "$line" "$1" >&2 && return 1; }; }
holds() { [[ $line == *"$1"* ]] || { printf '%s\nhas no: %s\n' "$line" "$1" >&2 && return 1; }; }

output() { said "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"output\":$2}}"; }
raised() { said "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":{\"raised\":$2}}"; }

# Ends its input. It ends with 0.
over() {
  exec {to}>&-
  wait "$pid"
  pid=
}

printed() { cat "$BATS_TEST_TMPDIR/printed"; }

teardown() {
  [[ -z ${pid-} ]] || kill -9 "$pid"
}
