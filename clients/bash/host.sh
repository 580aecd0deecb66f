#!/usr/bin/env bash
# bash host.sh FILE: serves the handler of a plain file to the daemon on stdin and stdout.
#
# The file defines the function `handler`, or the array FUNCTIONS: names of functions, or functions by name, or both. The
# variable CONSTANTS, a JSON object, is told to the daemon. A file that cannot be served ends the process with 1 and a few
# words on stderr.

source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}lib/playhead_client.sh"

# First of all: what the file prints while it loads is no frame.
playhead_take_stdio
if (($# != 1)); then
  _playhead_refuse_start 'usage: bash host.sh FILE'
fi
_playhead_file=$1
[[ $_playhead_file == */* ]] || _playhead_file=./$_playhead_file
[[ -f $_playhead_file && -r $_playhead_file ]] || _playhead_refuse_start "$1: no such handler file"
shift
source "$_playhead_file"
_playhead_status=$?
set +eu
LC_ALL=C

_playhead_serving=()
declare -F handler >/dev/null && _playhead_serving+=(handler)
if [[ $(declare -p FUNCTIONS 2>/dev/null) =~ ^declare\ -[a-zA-Z]*A ]]; then
  for _playhead_word in "${!FUNCTIONS[@]}"; do
    _playhead_serving+=("$_playhead_word=${FUNCTIONS[$_playhead_word]}")
  done
else
  _playhead_serving+=("${FUNCTIONS[@]}")
fi
if ((${#_playhead_serving[@]} == 0)); then
  # A last line that is false is no fault by itself.
  ((_playhead_status == 0)) || printf 'playhead: loading %s ended with %s\n' "$_playhead_file" "$_playhead_status" >&2
  _playhead_refuse_start "$_playhead_file has no handler: define the function handler, or FUNCTIONS=(charge refund)"
fi
_playhead_word=${_playhead_file##*/}
playhead_serve --name "${_playhead_word%.*}" --constants "${CONSTANTS:-{\}}" "${_playhead_serving[@]}"
