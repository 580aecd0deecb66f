# What a handler asks and tells. Everything that could differ between two runs comes from here. An answer is in REPLY.

# Of the call: the event's index from 0, the daemon's number, the name of the function.
PLAYHEAD_SEQ=
PLAYHEAD_CALL=
PLAYHEAD_FN=

_playhead_integer_re='^-?(0|[1-9][0-9]{0,18})$'

# Milliseconds since the Unix epoch.
ctx.now() {
  local ask
  ctx.failed && { REPLY='' && return 1; }
  if ((_playhead_producing)); then
    REPLY=${EPOCHREALTIME/[.,]/}
    REPLY=${REPLY%???}
    return
  fi
  _playhead_ask now ''
}

# Milliseconds of a clock that never goes back.
ctx.monotonic() {
  local ask up
  ctx.failed && { REPLY='' && return 1; }
  if ((!_playhead_producing)); then
    _playhead_ask now ',"clock":"monotonic"'
  elif [[ -r /proc/uptime ]]; then
    read -r up _ </proc/uptime
    REPLY=$((10#${up/./} * 10))
  else
    REPLY=$((SECONDS * 1000))
  fi
}

# A number in [0, 1).
ctx.random() {
  local ask
  ctx.failed && { REPLY='' && return 1; }
  if ((_playhead_producing)); then
    _playhead_below 1000000000
    printf -v REPLY '0.%09d%07d' "$REPLY" $((SRANDOM % 10000000))
    return
  fi
  _playhead_ask random ''
}

# ctx.randint LOW HIGH: an integer from one to the other, both included.
ctx.randint() {
  local ask
  ctx.failed && { REPLY='' && return 1; }
  [[ $1 =~ $_playhead_integer_re && $2 =~ $_playhead_integer_re ]] || ctx.raise TypeError "$1 to $2 are no integers" || return
  if ((_playhead_producing)); then
    (($1 <= $2)) || ctx.raise ProtocolError "$1 is above $2" || return
    _playhead_below $(($2 - $1 + 1)) || return
    REPLY=$(($1 + REPLY))
    return
  fi
  _playhead_ask random ",\"draw\":\"int\",\"low\":$1,\"high\":$2"
}

# ctx.randbytes N: N bytes in lower-case hex, since a variable cannot hold every byte.
ctx.randbytes() {
  local ask bytes=''
  ctx.failed && { REPLY='' && return 1; }
  [[ $1 =~ $_playhead_integer_re && $1 != -* ]] || ctx.raise TypeError "$1 is no number of bytes" || return
  if ((_playhead_producing)); then
    while ((${#bytes} < 2 * $1)); do
      printf -v bytes '%s%08x' "$bytes" "$SRANDOM"
    done
    REPLY=${bytes:0:2 * $1}
    return
  fi
  _playhead_ask random ",\"draw\":\"bytes\",\"n\":$1" && REPLY=${REPLY:1:${#REPLY}-2}
}

# ctx.sample N K: K different numbers below N, in the order drawn, as a JSON array.
ctx.sample() {
  local ask drawn=,
  ctx.failed && { REPLY='' && return 1; }
  [[ $1 =~ $_playhead_integer_re && $2 =~ $_playhead_integer_re && $1$2 != *-* ]] || ctx.raise TypeError "$1 and $2 are no numbers" || return
  if ((_playhead_producing)); then
    (($2 <= $1)) || ctx.raise ProtocolError "$2 of $1 cannot be drawn" || return
    local left=$2
    while ((left > 0)); do
      _playhead_below "$1"
      [[ $drawn == *,$REPLY,* ]] && continue
      drawn+=$REPLY,
      ((left--))
    done
    drawn=${drawn#,}
    REPLY="[${drawn%,}]"
    return
  fi
  _playhead_ask random ",\"draw\":\"sample\",\"n\":$1,\"k\":$2"
}

# A UUID of version 4.
ctx.uuid() {
  ctx.randbytes 16 || return
  local h=$REPLY version variant
  printf -v version '%02x' $((16#${h:12:2} & 0x0f | 0x40))
  printf -v variant '%02x' $((16#${h:16:2} & 0x3f | 0x80))
  REPLY=${h:0:8}-${h:8:4}-$version${h:14:2}-$variant${h:18:2}-${h:20:12}
}

# A number below $1, live.
_playhead_below() {
  (($1 > 0 && $1 <= 1 << 62)) || ctx.raise ProtocolError 'so many numbers cannot be drawn from here' || return
  local drawn=$((SRANDOM << 31 ^ SRANDOM)) most=$(((1 << 62) / $1 * $1))
  while ((drawn = drawn & (1 << 62) - 1, drawn >= most)); do drawn=$((SRANDOM << 31 ^ SRANDOM)); done
  REPLY=$((drawn % $1))
}

# ctx.respond KEY [--args JSON] [--kwargs JSON] [--stdout] PRODUCER [WORD...]: what the outside world answers. On record
# the producer is run, a command: its answer is the JSON that it leaves in REPLY, or with --stdout prints; where it fails
# without an error of its own its status is the error. On replay it is not run.
ctx.respond() {
  # Its names are seen by the producer.
  local _playhead_key=$1 _playhead_args='' _playhead_kwargs='' _playhead_prints='' ask
  shift
  while [[ ${1-} == --* ]]; do
    case $1 in
    --args) _playhead_args=$2 && shift ;;
    --kwargs) _playhead_kwargs=$2 && shift ;;
    --stdout) _playhead_prints=1 ;;
    *) ctx.raise TypeError "ctx.respond has no $1" || return ;;
    esac
    shift
  done
  ctx.failed && { REPLY='' && return 1; }
  (($# > 0)) || ctx.raise TypeError "ctx.respond $_playhead_key has no producer" || return
  if ((_playhead_producing)); then
    _playhead_run "$@"
    return
  fi
  json.quote "$_playhead_key"
  local _playhead_members_of_it=",\"key\":$REPLY"
  _playhead_member_of args "$_playhead_args" '[' && _playhead_member_of kwargs "$_playhead_kwargs" '{' &&
    _playhead_fits "$_playhead_members_of_it" || return
  _playhead_ask respond "$_playhead_members_of_it" || return
  if [[ $REPLY == '{"produce":true}' ]]; then
    _playhead_produced "$ask" "$@"
    return
  fi
  local result=$REPLY
  if [[ $result =~ $_playhead_value_reply_re ]]; then
    _playhead_spelled "${BASH_REMATCH[1]}"
    return
  fi
  if json.get "$result" value; then
    _playhead_spelled "$REPLY"
    return
  fi
  if json.get "$result" error; then
    _playhead_revive "$REPLY"
    REPLY=
    return 1
  fi
  _playhead_produced "$ask" "$@"
}

# Adds a member whose text is given, which has to be JSON that begins so.
_playhead_member_of() {
  [[ -n $2 ]] || return 0
  _playhead_compact "$2" || ctx.raise NotJSON "$1$REPLY: this is no JSON" || return
  [[ $REPLY == "$3"* ]] || ctx.raise NotJSON "$1: begins with $3" || return
  _playhead_members_of_it+=",\"$1\":$REPLY"
}

# Runs a producer. What it leaves is in REPLY, unless it fails. Nothing that it starts gets the protocol's descriptors.
_playhead_run() {
  local status=0
  REPLY=null
  ((++_playhead_producing))
  if [[ -n $_playhead_prints ]]; then
    eval 'REPLY=$("$@"'" $_playhead_in<&- $_playhead_out>&-"') || status=$?'
  else
    eval '"$@"'" $_playhead_in<&- $_playhead_out>&-"' || status=$?'
  fi
  ((--_playhead_producing))
  ctx.failed && { REPLY='' && return 1; }
  ((status == 0)) || ctx.raise ExitStatus "$1: $status"
}

_playhead_produced() {
  local ask=$1
  shift
  local described
  if _playhead_run "$@"; then
    _playhead_compact "$REPLY" || ctx.raise NotJSON "$_playhead_key$REPLY: what the producer gave is no JSON"
    ctx.failed || _playhead_fits "$REPLY"
  fi
  # The producer is over; what came meanwhile is read now.
  while read -r -t 0 -u "$_playhead_in"; do
    local value=$REPLY
    _playhead_awaited=0 _playhead_step
    REPLY=$value
  done
  if [[ -n $_playhead_cancelled ]]; then
    ctx.clear
    ctx.raise Cancelled 'the call was cancelled'
    return
  fi
  if ctx.failed; then
    described=$_playhead_error
    _playhead_settle "$ask" error "$described"
    REPLY=
    return 1
  fi
  _playhead_spelled "$REPLY"
  _playhead_settle "$ask" value "$REPLY"
}

# What the handler says about itself. In a producer nothing is told.

# ctx.note NAME [DATA]
ctx.note() {
  json.quote "$1"
  _playhead_say note ",\"name\":$REPLY" data "${2-}"
}

# ctx.observe NAME VALUE
ctx.observe() {
  json.quote "$1"
  _playhead_say observe ",\"name\":$REPLY" value "${2-null}"
}

# ctx.span.begin NAME [DATA]: a piece of work begins. REPLY is what ctx.span.end takes.
ctx.span.begin() {
  local sid=$((++_playhead_spans))
  json.quote "$1"
  _playhead_say span ",\"sid\":$sid,\"phase\":\"begin\",\"name\":$REPLY" data "${2-}" || return
  json.quote "$1"
  REPLY="$sid $REPLY"
}

# ctx.span.end SPAN [OUTCOME]
ctx.span.end() {
  [[ $1 =~ ^[0-9]+\ \" ]] || ctx.raise TypeError "ctx.span.end takes what ctx.span.begin gave" || return
  _playhead_say span ",\"sid\":${1%% *},\"phase\":\"end\",\"name\":${1#* }" outcome "${2-}"
}

# ctx.escaped KEY [WHERE]: something outside the tape was reached.
ctx.escaped() {
  local key where=''
  json.quote "$1"
  key=$REPLY
  if [[ -n ${2-} ]]; then
    json.quote "$2"
    where=$REPLY
  fi
  _playhead_say escaped ",\"key\":$key" where "$where"
}

# _playhead_say METHOD MEMBERS NAME VALUE
_playhead_say() {
  local members=$2 value=$4
  ctx.failed && { REPLY='' && return 1; }
  ((_playhead_producing)) && return
  if [[ -n $value ]]; then
    _playhead_compact "$value" || ctx.raise NotJSON "$3$REPLY: this is no JSON" || return
    members+=",\"$3\":$REPLY"
  fi
  _playhead_fits "$members" && _playhead_tell "$1" "$members"
}
