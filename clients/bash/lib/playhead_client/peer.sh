# One end of the conversation: questions go out, and whoever waits reads, and keeps what is for others.

_playhead_last_id=0
# The requests and notifications that wait, each as its frame, and the calls among them that were cancelled.
_playhead_queue=()
_playhead_given_up=

# The call that runs: its number, and what its context shares with the peer.
_playhead_call=
_playhead_asks=0
_playhead_spans=0
_playhead_first_id=0
# Settlements whose replies are not here yet, what the next question fails with, how many producers are at work.
_playhead_unsettled=0
_playhead_failure=
_playhead_producing=0
_playhead_cancelled=

# The frame that was read last: its method, its id, and its params, result or error, as they came. Of a handle that is laid out
# as the daemon does it these are parts of their own, and there are no params.
_playhead_method=
_playhead_id=
_playhead_params=
_playhead_result=
_playhead_reply_error=
_playhead_parts=()

_playhead_short_re="(-?[0-9][-+.eE0-9]*|\"[^\"\\]*\"|true|false|null)"
_playhead_value_reply_re="^\\{\"value\":$_playhead_short_re\\}\$"
_playhead_reply_re="^\\{\"jsonrpc\":\"2\\.0\",\"id\":([0-9]+),\"result\":($_playhead_short_re|\\{(\"value\":$_playhead_short_re)?\\}|\\{\"produce\":true\\})\\}\$"
_playhead_handle_re='^\{"jsonrpc":"2\.0","id":([0-9]+),"method":"handle","params":\{"call":([0-9]+),"fn":"([^"\\]+)","event":'
_playhead_seq_re='^,"seq":([0-9]+)\}\}$'
_playhead_id_re='^(-?(0|[1-9][0-9]*)|".*")$'

# _playhead_give_up WHY [MESSAGE CODE]: nothing can be said about a conversation that is no longer one.
_playhead_give_up() {
  json.quote "${2-the frame is not one JSON text}: $1"
  _playhead_send "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":${3--32700},\"message\":$REPLY}}"
  printf 'playhead: a frame cannot be read: %s\n' "$1" >&2
  exit 1
}

# Cuts a frame into its parts.
_playhead_cut() {
  _playhead_method='' _playhead_id='' _playhead_params='' _playhead_result='' _playhead_reply_error='' _playhead_parts=()
  if [[ $1 =~ $_playhead_reply_re ]]; then
    _playhead_id=${BASH_REMATCH[1]}
    _playhead_result=${BASH_REMATCH[2]}
    return
  fi
  if ((${#1} <= _playhead_small)) && [[ $1 =~ $_playhead_handle_re ]]; then
    _playhead_parts=("${BASH_REMATCH[@]:2}")
    local id=${BASH_REMATCH[1]} rest=${1:${#BASH_REMATCH[0]}}
    if _playhead_length "$rest" && [[ ${rest:REPLY} =~ $_playhead_seq_re ]]; then
      _playhead_parts+=("${rest:0:REPLY}" "${BASH_REMATCH[1]}")
      _playhead_id=$id _playhead_method='"handle"'
      return
    fi
  fi
  [[ $1 == '{'* ]] && _playhead_members "$1" || _playhead_give_up 'it is no object'
  _playhead_method=${_playhead_member['"method"']-}
  _playhead_id=${_playhead_member['"id"']-}
  _playhead_params=${_playhead_member['"params"']-}
  _playhead_result=${_playhead_member['"result"']-}
  _playhead_reply_error=${_playhead_member['"error"']-}
  if [[ -n $_playhead_method && $_playhead_method != '"'* ]]; then
    _playhead_give_up 'the method is not a string' 'the frame is not a JSON-RPC 2.0 message' -32600
  elif [[ -n $_playhead_id && ! $_playhead_id =~ $_playhead_id_re ]]; then
    # Nobody waits for an answer with such an id.
    [[ -n $_playhead_method ]] || { _playhead_id='' && return; }
    _playhead_give_up 'an id is an integer or a string' 'the frame is not a JSON-RPC 2.0 message' -32600
  fi
}

# Reads and takes in one frame.
_playhead_step() {
  local frame
  _playhead_next_frame
  frame=$REPLY
  [[ -n $frame ]] || return 0
  _playhead_cut "$frame"
  if [[ $_playhead_method == '"cancel"' ]]; then
    json.get "$_playhead_params" call
    if [[ -n $_playhead_call && $REPLY == "$_playhead_call" ]]; then
      _playhead_cancelled=1
    else
      _playhead_given_up+=" $REPLY "
    fi
  elif [[ -n $_playhead_method ]]; then
    # Other notifications are of later versions.
    [[ -n $_playhead_id ]] && _playhead_queue+=("$frame")
  elif [[ $_playhead_id =~ ^[0-9]{1,18}$ ]] && ((_playhead_unsettled > 0 && _playhead_id != _playhead_awaited &&
    _playhead_id >= _playhead_first_id && _playhead_id <= _playhead_last_id)); then
    ((_playhead_unsettled--))
    [[ -n $_playhead_reply_error ]] && _playhead_failure=${_playhead_failure:-$_playhead_reply_error}
  fi
  return 0
}

# The daemon's next request, cut into its parts.
_playhead_next_request() {
  local is_cut=''
  while ((${#_playhead_queue[@]} == 0)); do
    _playhead_awaited=0 _playhead_given_up=
    _playhead_step
    is_cut=1
  done
  [[ $is_cut ]] || _playhead_cut "${_playhead_queue[0]}"
  _playhead_queue=("${_playhead_queue[@]:1}")
}

# The failure of a settlement, if there was one, is the error now.
_playhead_take_failure() {
  if [[ -n $_playhead_failure ]]; then
    _playhead_raise_reply "$_playhead_failure"
    _playhead_failure=
  fi
  [[ -z $_playhead_error ]]
}

# _playhead_ask METHOD MEMBERS: sends a question and waits. REPLY is its result, ask its number.
_playhead_ask() {
  local _playhead_awaited
  if ! ((BASHPID == _playhead_pid)); then
    printf 'playhead: %s in a subshell: what it asks could not be numbered\n' "$1" >&2
    REPLY=
    return 1
  fi
  _playhead_awaited=$((++_playhead_last_id))
  ask=$((_playhead_asks++))
  _playhead_send "{\"jsonrpc\":\"2.0\",\"id\":$_playhead_awaited,\"method\":\"$1\",\"params\":{\"call\":$_playhead_call,\"ask\":$ask$2}}"
  while :; do
    _playhead_step
    [[ -z $_playhead_method && $_playhead_id == "$_playhead_awaited" ]] && break
  done
  local result=${_playhead_result:-null} refused=$_playhead_reply_error
  _playhead_take_failure || { REPLY='' && return 1; }
  if [[ -n $refused ]]; then
    _playhead_raise_reply "$refused"
    return
  fi
  REPLY=$result
}

# _playhead_settle ASK MEMBER TEXT: tells what a producer gave. Nobody waits for the reply: where it is an error, the call's
# next question fails.
_playhead_settle() {
  _playhead_send "{\"jsonrpc\":\"2.0\",\"id\":$((++_playhead_last_id)),\"method\":\"respond.settle\",\"params\":{\"call\":$_playhead_call,\"ask\":$1,\"$2\":$3}}"
  ((++_playhead_unsettled))
}

# _playhead_tell METHOD MEMBERS: a notification of the call.
_playhead_tell() {
  _playhead_send "{\"jsonrpc\":\"2.0\",\"method\":\"$1\",\"params\":{\"call\":$_playhead_call$2}}"
}

# _playhead_answer ID MEMBER TEXT: an answer to the daemon.
_playhead_answer() {
  _playhead_send "{\"jsonrpc\":\"2.0\",\"id\":$1,\"$2\":$3}"
}

# Refuses what no frame can hold.
_playhead_fits() {
  ((${#1} + 256 < _playhead_frame_bytes)) && return
  ctx.raise LimitExceeded "${#1} bytes, and a frame has $_playhead_frame_bytes at most"
}
