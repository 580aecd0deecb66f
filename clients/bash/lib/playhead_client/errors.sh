# Errors as data, E, both ways. An error is a type and a message: there is one at a time, and none where the type is ''.
#
# Where there is one, whatever asks or tells does nothing and fails, so that a handler may look once, at its end. What is
# there when the handler returns is what it raised.

PLAYHEAD_ERROR_TYPE=
PLAYHEAD_ERROR_MESSAGE=
_playhead_error=

# What an error of this code is called in the handler.
_playhead_type_of() {
  case $1 in
  -32003) REPLY=CallEnded ;;
  -32800) REPLY=Cancelled ;;
  -32012) REPLY=Forbidden ;;
  -32013) REPLY=LimitExceeded ;;
  *) REPLY=ProtocolError ;;
  esac
}

# ctx.raise TYPE MESSAGE [DATA]: sets an error that is the same in every language, and fails. One that is there stays.
ctx.raise() {
  local type data=${3-}
  if [[ -z $_playhead_error ]]; then
    json.quote "${1:-Error}"
    type=$REPLY
    json.quote "${2-}"
    _playhead_error="{\"type\":$type,\"message\":$REPLY"
    PLAYHEAD_ERROR_TYPE=${1:-Error} PLAYHEAD_ERROR_MESSAGE=${2-}
    # What JSON cannot carry is left out: it is no more than evidence.
    if [[ -n $data ]] && _playhead_compact "$data"; then
      _playhead_error+=",\"data\":$REPLY"
    fi
    _playhead_error+='}'
  fi
  REPLY=
  return 1
}

# ctx.failed [TYPE]: whether there is an error, of this type.
ctx.failed() {
  [[ -n $_playhead_error && $PLAYHEAD_ERROR_TYPE == "${1-$PLAYHEAD_ERROR_TYPE}" ]]
}

# ctx.clear: the error has been dealt with.
ctx.clear() {
  _playhead_error=
  PLAYHEAD_ERROR_TYPE=
  PLAYHEAD_ERROR_MESSAGE=
}

# The error of a reply to a question.
_playhead_raise_reply() {
  local code message data
  json.get "$1" code
  code=$REPLY
  json.get "$1" message && json.text "$REPLY"
  message=$REPLY
  if [[ $code != -32010 ]]; then
    _playhead_type_of "$code"
    [[ $REPLY == ProtocolError ]] && message+=" ($code)"
    ctx.raise "$REPLY" "$message"
    return
  fi
  json.get "$1" data message && json.text "$REPLY" && message=$REPLY
  json.get "$1" data kind && data="{\"kind\":$REPLY}"
  ctx.raise DeterminismError "$message" "${data-}"
}

# An error as it was recorded, in whatever language: kept as it came, also what no variable can hold.
_playhead_revive() {
  local type message
  [[ -n $_playhead_error ]] && return
  json.get "$1" type || REPLY='"Error"'
  type=$REPLY
  json.get "$1" message || REPLY='""'
  message=$REPLY
  _playhead_error="{\"type\":$type,\"message\":$message"
  json.get "$1" args && [[ $REPLY == '['* ]] && _playhead_error+=",\"args\":$REPLY"
  json.get "$1" data && [[ $REPLY != null ]] && _playhead_error+=",\"data\":$REPLY"
  _playhead_error+='}'
  json.text "$type" || REPLY=$type
  PLAYHEAD_ERROR_TYPE=$REPLY
  json.text "$message" || REPLY=$message
  PLAYHEAD_ERROR_MESSAGE=$REPLY
}
