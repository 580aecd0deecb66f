# JSON as text, cut and checked by regular expressions. No number is ever computed with, so that none is rounded.
#
# Two kinds of reading: what the daemon sent is JSON and is only cut (_playhead_length, _playhead_members); what a handler
# gives is checked to the last byte (_playhead_compact). Texts over _playhead_small bytes go through awk, once: here each
# bracket would cost a copy of the rest.

_playhead_small=16384

_playhead_string_re='"[^"\\]*(\\.[^"\\]*)*"'
_playhead_number_re='-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?'
_playhead_scalar_re="($_playhead_string_re|-?[0-9][-+.eE0-9]*|true|false|null)"
_playhead_bracket_re="^[^][{}\"]*(${_playhead_string_re}[^][{}\"]*)*[][{}]"
_playhead_member_re="^[[:space:]]*[{,]?[[:space:]]*($_playhead_string_re)[[:space:]]*:[[:space:]]*"
_playhead_item_re='^[[:space:]]*[[,]?[[:space:]]*'

# Strict: the escapes that there are, and no control characters.
_playhead_plain_re=$'[^"\\\x01-\x1f]*'
_playhead_text_re="\"$_playhead_plain_re(\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4})$_playhead_plain_re)*\""
_playhead_value_re="($_playhead_text_re|$_playhead_number_re|true|false|null)"
_playhead_compact_scalar_re="^$_playhead_value_re\$"
# An object or an array of scalars, without a space in it.
_playhead_flat_re="^(\\{($_playhead_text_re:$_playhead_value_re(,$_playhead_text_re:$_playhead_value_re)*)?\\}"
_playhead_flat_re+="|\\[($_playhead_value_re(,$_playhead_value_re)*)?\\])\$"
_playhead_token_re=$'^[ \t\r\n]*'"($_playhead_text_re|$_playhead_number_re|true|false|null|[][{},:])"

# UTF-8, with the three bytes that half a character would have.
_playhead_utf8_re=$'^([\x01-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}'
_playhead_utf8_re+=$'|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*$'

# What may be a number that has several spellings: an exponent, zeros at the end, many digits, a small one, -0.
_playhead_spelling_re='[0-9][eE]|\.[0-9]+0([^0-9]|$)|[0-9.]{17}|0\.00000|-0([^.0-9]|$)'

# A record is what stands between two quotes, so that a text of any size is read once. In `members` it prints where the keys
# and the values of the outermost object or array are; in `compact`, what is told of _playhead_compact; in `spelled`, what is
# told of _playhead_spelled.
_playhead_awk='
function fault(   i) {
  printf "\n!"
  for (i = 1; i <= depth; i++) printf "/%s", kind[i] == "{" ? name[i] : count[i]
  failed = 1
  exit 1
}
function value_begins() {
  if (state != "value" && state != "value_or_end") fault()
  if (depth == 1) first = at
}
function value_ends(last) {
  if (depth == 1 && mode == "members") print first_of_key, size_of_key, first, last - first + 1
  state = depth == 0 ? "end" : "comma"
}
# A float about as ECMAScript writes it, but seen to be one: whatever its spelling was, it has one.
function spelled(t,   x, precision, sign, digits, point, size) {
  if (t !~ /[.eE]/) return t == "-0" ? "0" : t
  x = t + 0
  sign = t ~ /^-/ ? "-" : ""
  if (x == 0) return sign "0.0"
  if (x < 0) x = -x
  for (precision = x < 2.3e-308 ? 0 : 14; precision < 17; precision++) {
    digits = sprintf("%." precision "e", x)
    if (digits + 0 == x) break
  }
  if (digits !~ /^[0-9]/) return t
  point = digits
  sub(/^.*e/, "", point)
  point += 1
  sub(/e.*$/, "", digits)
  sub(/[.]/, "", digits)
  sub(/0+$/, "", digits)
  size = length(digits)
  if (point > 21 || point < -5) {
    return sign substr(digits, 1, 1) (size > 1 ? "." substr(digits, 2) : "") "e" (point > 0 ? "+" : "") (point - 1)
  }
  if (point <= 0) return sign "0." substr("000000", 1, -point) digits
  if (size > point) return sign substr(digits, 1, point) "." substr(digits, point + 1)
  return sign digits substr("000000000000000000000", 1, point - size) ".0"
}
function token(t) {
  if (t == "{" || t == "[") {
    value_begins()
    if (++depth > 1000 && mode == "compact") fault()
    kind[depth] = t; name[depth] = ""; count[depth] = 0
    state = t == "{" ? "key_or_end" : "value_or_end"
  } else if (t == "}" || t == "]") {
    if (state != "comma" && state != (t == "}" ? "key_or_end" : "value_or_end")) fault()
    if (depth == 0 || kind[depth] != (t == "}" ? "{" : "[")) fault()
    depth--
    value_ends(at)
  } else if (t == ":") {
    if (state != "colon") fault()
    state = "value"
  } else if (t == ",") {
    if (state != "comma") fault()
    count[depth]++
    state = kind[depth] == "{" ? "key" : "value"
  } else {
    value_begins()
    value_ends(at + length(t) - 1)
  }
  if (mode == "compact") printf "%s", t
  if (mode == "spelled") printf "%s", t ~ /^[-0-9]/ ? spelled(t) : t
  at += length(t)
}
function string_begins() {
  inside = 1; begun = at; text = ""
  is_key = state == "key" || state == "key_or_end"
  if (!is_key) value_begins()
}
function string_ends() {
  inside = 0
  if (!is_key) { value_ends(at); return }
  gsub(/~/, "~0", text)
  gsub(/\//, "~1", text)
  name[depth] = text; state = "colon"
  if (depth == 1) { first_of_key = begun; size_of_key = at - begun + 1 }
}
BEGIN { RS = "\""; state = "value"; at = 1; depth = 0 }
NR > 1 {
  if (!inside) string_begins()
  else if (!escaped) string_ends()
  if (mode != "members") printf "\""
  at++
}
inside {
  escaped = match($0, /\\+$/) ? RLENGTH % 2 : 0
  if (is_key) text = text $0 (escaped ? "\"" : "")
  if (mode == "compact") {
    piece = escaped ? substr($0, 1, length($0) - 1) : $0
    gsub(/\\[\\\/bfnrt]/, ".", piece)
    gsub(/\\u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/, ".", piece)
    if (piece ~ /[\\\001-\037]/) fault()
  }
  if (mode != "members") printf "%s", $0
  at += length($0)
  next
}
{
  parts = split($0, part, ",")
  for (i = 1; i <= parts; i++) {
    rest = part[i]
    while (rest != "") {
      if (match(rest, /^[ \t\r\n]+/)) at += RLENGTH
      else if (match(rest, /^[][{}:]/) || match(rest, /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)/)) {
        size = RLENGTH
        token(substr(rest, 1, size))
        RLENGTH = size
      } else fault()
      rest = substr(rest, RLENGTH + 1)
    }
    if (i < parts) token(",")
  }
}
END { if (!failed && (inside || state != "end")) fault() }
'

# REPLY: how many bytes the value at the start of a text has. The text is JSON.
_playhead_length() {
  local rest=$1 depth=0 found
  if [[ $1 =~ ^$_playhead_scalar_re ]]; then
    REPLY=${#BASH_REMATCH[0]}
    return
  fi
  while [[ $rest =~ $_playhead_bracket_re ]]; do
    found=${#BASH_REMATCH[0]}
    case ${rest:found-1:1} in
    [[{]) ((++depth)) ;;
    *) ((--depth)) ;;
    esac
    rest=${rest:found}
    if ((depth == 0)); then
      REPLY=$((${#1} - ${#rest}))
      return
    fi
    ((depth > 0)) || break
  done
  REPLY=0
  return 1
}

# Cuts an object, or an array, into the texts of its members: _playhead_member by the texts of their keys, quotes and all
# (or their places from 0). Fails where it is neither. The text is JSON.
declare -gA _playhead_member
_playhead_members() {
  local rest=$1 key count=0 line place
  _playhead_member=()
  rest=${rest#"${rest%%[![:space:]]*}"}
  if ((${#1} > _playhead_small)); then
    local lines
    mapfile -t lines < <(LC_ALL=C awk -v mode=members "$_playhead_awk" <<<"$rest")
    for line in "${lines[@]}"; do
      [[ $line =~ ^([0-9]*)\ ([0-9]*)\ ([0-9]+)\ ([0-9]+)$ ]] || return 1
      place=("${BASH_REMATCH[@]:1}")
      key=$((count++))
      if [[ $rest == '{'* ]]; then
        _playhead_key "${rest:place[0]-1:place[1]}"
        key=$REPLY
      fi
      _playhead_member[$key]=${rest:place[2]-1:place[3]}
    done
    [[ $rest == [[{]* ]]
    return
  fi
  case $rest in
  '{'*)
    while [[ $rest =~ $_playhead_member_re ]]; do
      rest=${rest:${#BASH_REMATCH[0]}}
      _playhead_key "${BASH_REMATCH[1]}"
      key=$REPLY
      _playhead_length "$rest" || return 1
      _playhead_member[$key]=${rest:0:REPLY}
      rest=${rest:REPLY}
    done
    [[ $rest =~ ^[[:space:]]*(\{[[:space:]]*)?\}[[:space:]]*$ ]]
    ;;
  '['*)
    while [[ $rest =~ $_playhead_item_re ]]; do
      rest=${rest:${#BASH_REMATCH[0]}}
      [[ $rest == ']'* ]] && break
      _playhead_length "$rest" || return 1
      _playhead_member[$((count++))]=${rest:0:REPLY}
      rest=${rest:REPLY}
    done
    [[ $rest =~ ^\][[:space:]]*$ ]]
    ;;
  *) return 1 ;;
  esac
}

# A key as it is spelled without need.
_playhead_key() {
  REPLY=$1
  if [[ $1 == *\\* ]] && json.text "$1"; then
    json.quote "$REPLY"
  elif [[ $1 == *\\* ]]; then
    REPLY=$1
  fi
}

# json.get TEXT KEY...: the JSON text of the part that the keys, or places, lead to. Fails where there is none.
json.get() {
  local text=$1 key
  shift
  for key in "$@"; do
    if [[ $text =~ ^[[:space:]]*\{ ]]; then
      json.quote "$key"
      key=$REPLY
    fi
    REPLY=
    _playhead_members "$text" || return 1
    [[ $key && ${_playhead_member[$key]+there} ]] || { REPLY= && return 1; }
    text=${_playhead_member[$key]}
  done
  REPLY=$text
}

# json.integer TEXT KEY...: the same, where it is an integer of 64 bits, so that it is safe in $((...)); else an error.
json.integer() {
  json.get "$@" || REPLY=
  local digits=${REPLY#-}
  if [[ $digits =~ ^(0|[1-9][0-9]*)$ ]] && { ((${#digits} < 19)) || [[ $((REPLY)) == "$REPLY" ]]; }; then
    return 0
  fi
  REPLY=
  local IFS=/
  ctx.raise TypeError "/${*:2} is no integer of 64 bits"
}

# json.less A B: whether one number is below another: of their first 18 digits.
json.less() {
  local a b
  [[ $1 =~ ^$_playhead_number_re$ && $2 =~ ^$_playhead_number_re$ ]] || return 2
  printf -v a '%.40f' "$1"
  printf -v b '%.40f' "$2"
  [[ $a == -*[1-9]* ]] || a=${a#-}
  [[ $b == -*[1-9]* ]] || b=${b#-}
  case $a:$b in
  -*:-*)
    local swapped=${a#-}
    a=${b#-} b=$swapped
    ;;
  -*) return 0 ;;
  *:-*) return 1 ;;
  esac
  ((${#a} != ${#b})) && return $((${#a} > ${#b}))
  [[ $a < $b ]]
}

# Half a character as an escape: its three bytes are no UTF-8.
_playhead_halves() {
  local code low
  REPLY=$1
  while [[ $REPLY =~ $'\xed'([$'\xa0'-$'\xbf'])([$'\x80'-$'\xbf']) ]]; do
    printf -v code '%d' "'${BASH_REMATCH[1]}"
    printf -v low '%d' "'${BASH_REMATCH[2]}"
    printf -v code '\\u%04x' $((0xD000 | (code & 63) << 6 | (low & 63)))
    REPLY=${REPLY//"${BASH_REMATCH[0]}"/"$code"}
  done
}

# json.quote TEXT: a text as JSON. What is not UTF-8 becomes question marks.
json.quote() {
  local backslash='\' quote='"' code letter
  REPLY=$1
  if [[ $REPLY == *[$'\x80'-$'\xff']* && ! $REPLY =~ $_playhead_utf8_re ]]; then
    REPLY=${REPLY//[$'\x80'-$'\xff']/?}
  fi
  REPLY=${REPLY//"$backslash"/"$backslash$backslash"}
  REPLY=${REPLY//"$quote"/"$backslash$quote"}
  if [[ $REPLY == *[$'\x01'-$'\x1f']* ]]; then
    for code in {1..31}; do
      printf -v letter '\\x%x' "$code"
      printf -v letter "$letter"
      [[ $REPLY == *"$letter"* ]] || continue
      case $code in
      8) code='\b' ;;
      9) code='\t' ;;
      10) code='\n' ;;
      12) code='\f' ;;
      13) code='\r' ;;
      *) printf -v code '\\u%04x' "$code" ;;
      esac
      REPLY=${REPLY//"$letter"/"$code"}
    done
  fi
  REPLY="\"$REPLY\""
  [[ $REPLY == *$'\xed'[$'\xa0'-$'\xbf']* ]] && _playhead_halves "$REPLY"
  return 0
}

# json.text JSON: the text that a JSON text stands for. Fails where it is none, and where no variable can hold it: NUL.
json.text() {
  local rest out='' code low
  REPLY=
  [[ $1 =~ ^$_playhead_string_re$ ]] || return 1
  rest=${1:1:${#1}-2}
  while [[ $rest == *\\* ]]; do
    out+=${rest%%\\*}
    rest=${rest#*\\}
    case ${rest:0:1} in
    b) out+=$'\b' ;;
    f) out+=$'\f' ;;
    n) out+=$'\n' ;;
    r) out+=$'\r' ;;
    t) out+=$'\t' ;;
    u)
      [[ $rest =~ ^u([0-9a-fA-F]{4}) ]] || return 1
      code=$((16#${BASH_REMATCH[1]}))
      rest=${rest:4}
      if [[ $code -ge 0xD800 && $code -lt 0xDC00 && $rest =~ ^.\\u([dD][c-fC-F][0-9a-fA-F]{2}) ]]; then
        low=$((16#${BASH_REMATCH[1]}))
        code=$((0x10000 + ((code - 0xD800) << 10) + low - 0xDC00))
        rest=${rest:6}
      fi
      ((code > 0)) || return 1
      _playhead_character "$code"
      out+=$REPLY
      ;;
    *) out+=${rest:0:1} ;;
    esac
    rest=${rest:1}
  done
  REPLY=$out$rest
}

_playhead_character() {
  local bytes
  if (($1 < 0x80)); then
    printf -v bytes '\\x%x' "$1"
  elif (($1 < 0x800)); then
    printf -v bytes '\\x%x' $((0xC0 | $1 >> 6)) $((0x80 | $1 & 63))
  elif (($1 < 0x10000)); then
    printf -v bytes '\\x%x' $((0xE0 | $1 >> 12)) $((0x80 | $1 >> 6 & 63)) $((0x80 | $1 & 63))
  else
    printf -v bytes '\\x%x' $((0xF0 | $1 >> 18)) $((0x80 | $1 >> 12 & 63)) $((0x80 | $1 >> 6 & 63)) $((0x80 | $1 & 63))
  fi
  printf -v REPLY "$bytes"
}

# Checks that a text is JSON: REPLY is the same without spaces, and with no character escaped without need. Where it is
# not it fails, and REPLY is the JSON Pointer of the part that is wrong.
_playhead_compact() {
  local text=$1
  if [[ $text == *[$'\x80'-$'\xff']* && ! $text =~ $_playhead_utf8_re ]]; then
    REPLY=
    return 1
  fi
  if [[ $text == *$'\xed'[$'\xa0'-$'\xbf']* ]]; then
    _playhead_halves "$text"
    text=$REPLY
  fi
  if ((${#text} > _playhead_small)); then
    REPLY=$(LC_ALL=C awk -v mode=compact "$_playhead_awk" <<<"$text") && return
    REPLY=${REPLY##*$'\n!'}
    return 1
  fi
  if [[ $text != *\\* ]] && [[ $text =~ $_playhead_compact_scalar_re || $text =~ $_playhead_flat_re ]]; then
    REPLY=$text
    return
  fi
  _playhead_tokens "$text"
}

# REPLY is the text, its numbers in the one spelling that they have here, on record as on replay: the daemon keeps what a float
# is, and not how it was written.
_playhead_spelled() {
  REPLY=$1
  if [[ $1 =~ $_playhead_spelling_re ]]; then
    REPLY=$(LC_ALL=C awk -v mode=spelled "$_playhead_awk" <<<"$1") || REPLY=$1
  fi
}

_playhead_tokens() {
  local rest=$1 out='' state=value depth=0 token i
  local -a kind=() name=()
  while [[ $rest =~ $_playhead_token_re ]]; do
    rest=${rest:${#BASH_REMATCH[0]}}
    token=${BASH_REMATCH[1]}
    case $state:$token in
    value:[[{] | value_or_end:[[{])
      ((++depth <= 1000)) || break
      kind[depth]=$token name[depth]=0 state=value_or_end
      [[ $token == '{' ]] && name[depth]='' state=key_or_end
      ;;
    comma:[]}] | key_or_end:'}' | value_or_end:']')
      [[ ${kind[depth]}$token == '{}' || ${kind[depth]}$token == '[]' ]] || break
      ((--depth))
      state=comma
      ;;
    comma:,)
      state=key
      [[ ${kind[depth]} == '[' ]] && state=value && ((++name[depth]))
      ;;
    colon::) state=value ;;
    *:[][{},:]) break ;;
    key*:\"* | value*)
      _playhead_key "$token"
      token=$REPLY
      if [[ $state == key* ]]; then
        name[depth]=${token:1:${#token}-2}
        name[depth]=${name[depth]//'~'/'~0'}
        name[depth]=${name[depth]//'/'/'~1'}
        state=colon
      else
        state=comma
      fi
      ;;
    *) break ;;
    esac
    out+=$token
    if ((depth == 0)); then
      [[ $rest =~ ^[[:space:]]*$ ]] || break
      REPLY=$out
      return
    fi
  done
  REPLY=
  for ((i = 1; i <= depth && i <= 1000; i++)); do REPLY+=/${name[i]}; done
  return 1
}
