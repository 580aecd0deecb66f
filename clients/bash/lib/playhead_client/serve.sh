# Answers the daemon until the input ends.

# The functions by the names that the daemon uses.
declare -gA _playhead_functions
_playhead_initialized=
_playhead_name=handler
_playhead_constants='{}'
_playhead_pid=$BASHPID

# playhead_serve [--name NAME] [--constants JSON] [NAME=FUNCTION | FUNCTION]...: takes stdin and stdout, and does not return.
playhead_serve() {
  local word
  playhead_take_stdio
  while [[ ${1-} == --* ]]; do
    case $1 in
    --name) _playhead_name=$2 ;;
    --constants)
      [[ $2 == '{'* ]] && _playhead_compact "$2" || _playhead_refuse_start "the constants are no JSON object: $2"
      _playhead_constants=$REPLY
      ;;
    *) _playhead_refuse_start "playhead_serve has no $1" ;;
    esac
    shift 2
  done
  for word in "$@"; do
    [[ -n ${word%%=*} ]] && declare -F "${word#*=}" >/dev/null || _playhead_refuse_start "there is no function ${word#*=}"
    _playhead_functions[${word%%=*}]=${word#*=}
  done
  ((${#_playhead_functions[@]} > 0)) || _playhead_refuse_start 'there is no function to serve'
  _playhead_pid=$BASHPID
  # What a status says is looked at here; with -e it would end the process instead.
  set +eu
  shopt -u nocasematch
  while :; do
    _playhead_next_request
    _playhead_requested
  done
}

_playhead_refuse_start() {
  printf 'playhead: %s\n' "$1" >&2
  exit 1
}

_playhead_requested() {
  case $_playhead_initialized:$_playhead_method in
  *:'"initialize"') _playhead_initialize "$_playhead_id" "$_playhead_params" ;;
  :*) _playhead_refuse "$_playhead_id" -32002 'initialize has not been answered' ;;
  *:'"handle"') _playhead_handle "$_playhead_id" "$_playhead_params" ;;
  *:'"shutdown"') _playhead_answer "$_playhead_id" result '{}' ;;
  *) _playhead_refuse "$_playhead_id" -32601 'no such method' ;;
  esac
}

# _playhead_refuse ID CODE MESSAGE [DATA]
_playhead_refuse() {
  json.quote "$3"
  _playhead_answer "$1" error "{\"code\":$2,\"message\":$REPLY${4:+,\"data\":$4}}"
}

_playhead_initialize() {
  local name names='' runtime
  json.get "$2" protocol
  if [[ -n $_playhead_initialized ]]; then
    _playhead_refuse "$1" -32600 'initialize has been answered already'
  elif [[ ! $REPLY =~ ^-?[0-9]+$ ]]; then
    _playhead_refuse "$1" -32602 'protocol is not an integer'
  elif [[ ! $REPLY =~ ^[1-9] ]]; then
    _playhead_refuse "$1" -32001 'no common protocol version' '{"supported":[1]}'
  else
    json.get "$2" limits frameBytes && [[ $REPLY =~ ^[1-9][0-9]{0,17}$ ]] && _playhead_frame_bytes=$REPLY
    for name in "${!_playhead_functions[@]}"; do
      json.quote "$name"
      names+=,$REPLY
    done
    json.quote "Bash ${BASH_VERSION%%(*}"
    runtime=$REPLY
    json.quote "$_playhead_name"
    _playhead_initialized=1
    _playhead_answer "$1" result "{\"protocol\":1,\"handler\":{\"name\":$REPLY,\"version\":\"$PLAYHEAD_VERSION\",\"language\":\"bash\",\"runtime\":$runtime},\"functions\":[${names#,}],\"capabilities\":{},\"constants\":$_playhead_constants}"
  fi
}

# _playhead_handle ID PARAMS
_playhead_handle() {
  # Its names are seen by the handler.
  local _playhead_handled=$1 _playhead_event _playhead_outcome
  if ((${#_playhead_parts[@]} == 4)); then
    PLAYHEAD_CALL=${_playhead_parts[0]} PLAYHEAD_FN=${_playhead_parts[1]} PLAYHEAD_SEQ=${_playhead_parts[3]}
    _playhead_event=${_playhead_parts[2]}
  else
    _playhead_members "$2"
    _playhead_event=${_playhead_member['"event"']-}
    PLAYHEAD_CALL=${_playhead_member['"call"']-} PLAYHEAD_SEQ=${_playhead_member['"seq"']-}
    json.text "${_playhead_member['"fn"']-}"
    PLAYHEAD_FN=$REPLY
  fi
  if [[ ! $PLAYHEAD_CALL =~ ^[0-9]+$ || ! $PLAYHEAD_SEQ =~ ^[0-9]+$ || -z $_playhead_event ]]; then
    _playhead_refuse "$1" -32602 'handle has a call, a seq and an event'
    return
  fi
  if [[ -z $PLAYHEAD_FN || -z ${_playhead_functions[$PLAYHEAD_FN]-} ]]; then
    _playhead_refuse "$1" -32602 "no function named ${PLAYHEAD_FN:-so}"
    return
  fi
  _playhead_call=$PLAYHEAD_CALL _playhead_asks=0 _playhead_spans=0 _playhead_first_id=$((_playhead_last_id + 1))
  _playhead_unsettled=0 _playhead_failure='' _playhead_producing=0 _playhead_cancelled=''
  [[ $_playhead_given_up == *" $PLAYHEAD_CALL "* ]] && _playhead_cancelled=1
  ctx.clear
  _playhead_outcome
  _playhead_call=
  _playhead_answer "$_playhead_handled" result "$_playhead_outcome"
}

# What the handler gave, or raised.
_playhead_outcome() {
  local status=0
  REPLY=null
  [[ -n $_playhead_cancelled ]] || "${_playhead_functions[$PLAYHEAD_FN]}" "$_playhead_event" || status=$?
  # A handler may have set another.
  [[ ${LC_ALL-} == C ]] || LC_ALL=C
  _playhead_outcome=$REPLY
  while ((_playhead_unsettled > 0)); do
    _playhead_awaited=0 _playhead_step
  done
  if _playhead_take_failure && ((status != 0)); then
    ctx.raise ExitStatus "$PLAYHEAD_FN: $status"
  fi
  # What has come as JSON is JSON.
  if ! ctx.failed && [[ $_playhead_outcome != "$_playhead_event" ]]; then
    _playhead_compact "$_playhead_outcome" || ctx.raise NotJSON "the output${REPLY:+: }$REPLY: this is no JSON"
    _playhead_outcome=$REPLY
  fi
  ctx.failed || _playhead_fits "$_playhead_outcome"
  if [[ -n $_playhead_cancelled ]]; then
    ctx.clear
    ctx.raise Cancelled 'the call was cancelled'
  fi
  if ctx.failed; then
    _playhead_outcome="{\"raised\":$_playhead_error}"
  else
    _playhead_outcome="{\"output\":$_playhead_outcome}"
  fi
}
