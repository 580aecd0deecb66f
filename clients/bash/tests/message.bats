# JSON as text. Each is said of both ways in: of small texts, and of those that awk reads.

bats_require_minimum_version 1.5.0
load helper

setup() {
  LC_ALL=C
  source "$CLIENT/lib/playhead_client.sh"
}

both_ways() {
  local _playhead_small
  for _playhead_small in 16384 0; do "$@" || return; done
}

# compacts TEXT WANTED
compacts() { _playhead_compact "$1" && [[ $REPLY == "$2" ]] || { printf '%s: %s\n' "$1" "$REPLY" >&2 && return 1; }; }
# refuses TEXT POINTER
refuses() { ! _playhead_compact "$1" && [[ $REPLY == "$2" ]] || { printf '%s: %s\n' "$1" "$REPLY" >&2 && return 1; }; }
# gets WANTED TEXT KEY...
gets() { json.get "${@:2}" && [[ $REPLY == "$1" ]] || { printf '%s: %s\n' "$*" "$REPLY" >&2 && return 1; }; }
lacks() { ! json.get "$@" && [[ $REPLY == '' ]]; }

@test "what is JSON comes back without spaces, its numbers as they were" {
  both_ways compacts $'{"a": [1, 2.50 ,"x y", {} ,\n[]], "b" :\tnull}' '{"a":[1,2.50,"x y",{},[]],"b":null}'
  both_ways compacts '9007199254740993' '9007199254740993'
  both_ways compacts '[1E2,-0.0,123456789012345678901234567890]' '[1E2,-0.0,123456789012345678901234567890]'
  both_ways compacts '""' '""'
  both_ways compacts '{"a\"b":"\\"}' '{"a\"b":"\\"}'
}

@test "what is not is refused with its place" {
  both_ways refuses '{"items":[1,NaN]}' /items/1
  both_ways refuses '{"a/b~":{"c":tru}}' /a~1b~0/c
  both_ways refuses '{"a":1,}' /a
  both_ways refuses '["a' /0
  both_ways refuses '{"a":"b\x"}' /a
  both_ways refuses $'["a\tb"]' /0
  both_ways refuses '1 2' ''
  both_ways refuses '' ''
  both_ways refuses '[1]]' ''
  both_ways refuses $'"\xff"' ''
}

@test "a value has 1000 levels at most" {
  local open close
  printf -v open '%1000s' ''
  open=${open// /[} close=${open//[/]}
  both_ways _playhead_compact "$open$close"
  run ! both_ways _playhead_compact "[$open$close]"
}

@test "texts are taken and refused as the vectors say" {
  local name verdict hex text refused=0 wrong=''
  while read -r name verdict hex; do
    # No variable holds NUL.
    [[ $hex =~ ^(..)*00 ]] && continue
    printf -v text "$(sed 's/../\\x&/g' <<<"$hex")"
    if [[ $verdict == reject ]]; then
      # A key that comes twice and a number that no float has are the daemon's to refuse; half a character goes out as an escape.
      [[ $name =~ duplicate|overflow|huge|surrogate|cesu8|escaped_then_invalid ]] && continue
      ((++refused))
      ! _playhead_compact "$text" && { _playhead_small=0 && ! _playhead_compact "$text"; } || wrong+=" $name"
    elif [[ $name == y_* ]]; then
      _playhead_compact "$text" && { _playhead_small=0 && _playhead_compact "$text"; } || wrong+=" $name"
    fi
    _playhead_small=16384
  done < <(jq -r '.cases[] | "\(.name) \(.verdict) \(.hex)"' "$VECTORS/canonical/reject.json")
  echo "taken or refused wrongly:$wrong ($refused refused)" >&2
  [[ $wrong == '' ]]
  ((refused > 100))
}

@test "a part is found by its keys, and cut out as it was" {
  local text='{"a":{"b":[1,{"c d":"x\"y"},-5]},"\u0065":true,"":[], "n" : 12345678901234567890 }'
  both_ways gets '"x\"y"' "$text" a b 1 'c d'
  both_ways gets -5 "$text" a b 2
  both_ways gets true "$text" e
  both_ways gets '[]' "$text" ''
  both_ways gets 12345678901234567890 "$text" n
  both_ways lacks "$text" a zz
  both_ways lacks "$text" a b 3
  both_ways lacks "$text" n 1
  both_ways lacks '{}' 0
  both_ways lacks '[]' 0
}

@test "an integer of 64 bits is one, and nothing else is" {
  json.integer '{"n":-9223372036854775808}' n
  [[ $REPLY == -9223372036854775808 ]]
  local text
  for text in 9223372036854775808 1.0 '"1"' '"a[$(exit 3)]"' null 1e2; do
    ! json.integer "[$text]" 0
    ctx.failed TypeError
    [[ $REPLY == '' && $PLAYHEAD_ERROR_MESSAGE == '/0 is no integer of 64 bits' ]]
    ctx.clear
  done
}

@test "a text goes out and comes back" {
  local text
  for text in $'a"\\/\x01\n\x1f\x7f&\\0 \xc3\xa9' '' '\' '"' '&' $'\b\f\r\t' $'half \xed\xa0\xbd'; do
    json.quote "$text"
    _playhead_compact "$REPLY"
    json.text "$REPLY"
    [[ $REPLY == "$text" ]]
  done
  json.text '"\u00e9\u20ac\ud83d\ude00\/"'
  [[ $REPLY == $'\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/' ]]
  ! json.text '"a\u0000b"'
  ! json.text '5'
  json.quote $'a\xff'
  [[ $REPLY == '"a?"' ]]
}

@test "one number is below another" {
  local pair
  for pair in '1 2' '-1 1' '-2 -1' '0.19999 0.2' '1e-7 0.2' '5 10' '-0.0 1' '9007199254740993 9007199254740994'; do
    json.less $pair
    ! json.less ${pair#* } ${pair% *}
  done
  ! json.less 0.2 0.2
  ! json.less 0 -0
}

@test "a number has one spelling" {
  local written wanted
  while read -r written wanted; do
    _playhead_spelled "$written"
    [[ $REPLY == "$wanted" ]] || { echo "$written: $REPLY" >&2 && return 1; }
  done <<'END'
1e15 1000000000000000.0
1e21 1e+21
1.5E22 1.5e+22
123456789012345680000.0 123456789012345680000.0
1e-4 0.0001
1.5e-5 0.000015
12e-8 1.2e-7
5e-324 5e-324
1.7976931348623157e308 1.7976931348623157e+308
0.300000000000000044 0.30000000000000004
4.0 4.0
4.50 4.5
0.00 0.0
-0.0 -0.0
-0 0
1e0 1.0
-1.20e1 -12.0
9007199254740993.0 9007199254740992.0
9007199254740993 9007199254740993
123456789012345678901234567890 123456789012345678901234567890
{"1.50":["1e2\"",1.50,null]} {"1.50":["1e2\"",1.5,null]}
END
}

@test "a float is spelled one way, however it was written" {
  local numbers long
  numbers=$(jq -r '[.numbers[].es6 | select(test("[.e]"))] | .[0:3000] | join("\n")' "$VECTORS/numbers/numbers.json")
  long=$(awk '{ printf "%.17g\n", $1 }' <<<"$numbers" | sed 's/^[-0-9]*$/&.0/')
  spelled() { awk -v mode=spelled "$_playhead_awk" <<<"[${1//$'\n'/,}]"; }
  [[ $long != "$numbers" ]]
  [[ $(spelled "$long") == "$(spelled "$numbers")" ]]
  # A power of two may have a digit more than ECMAScript gives it.
  (($(diff <(tr , '\n' <<<"[${numbers//$'\n'/,}]") <(spelled "$numbers" | tr , '\n') | grep -c '^<') < 100))
}

@test "what is large is read once" {
  local text i
  printf -v text '%*s' 30000 ''
  text="[${text// /\"a\\\"b\",}{\"k\":[1,2]}]"
  SECONDS=0
  _playhead_compact "$text"
  [[ $REPLY == "$text" ]]
  gets '[1,2]' "{\"x\":$text,\"y\":[1,2]}" y
  ((SECONDS < 20))
}
