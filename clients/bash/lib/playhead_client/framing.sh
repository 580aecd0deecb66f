# Bytes into lines, on the real stdin and stdout. Only the byte 0x0A ends a frame.

_playhead_in=
_playhead_out=
_playhead_frame_bytes=67108864

# Takes stdin and stdout for the protocol: from here on printing goes to stderr, and stdin is empty. Again: nothing.
playhead_take_stdio() {
  [[ -n $_playhead_in ]] && return
  exec {_playhead_in}<&0 {_playhead_out}>&1 </dev/null >&2
  # Bytes: the length of a text is what a frame counts, and a character is never cut or refused.
  LC_ALL=C
  # A daemon that is gone is seen where the write fails. A trap, since children would keep what is ignored.
  trap 'exit 0' PIPE
}

# The next frame into REPLY. At the end of input nothing is waited for; what it cuts off is no frame.
_playhead_next_frame() {
  IFS= read -r -u "$_playhead_in" REPLY || exit 0
  if ((${#REPLY} > 67108865)); then
    _playhead_give_up 'it is larger than 67108864 bytes'
  fi
  # By its place: to cut off what matches would try every byte.
  if [[ ${REPLY: -1} == $'\r' ]]; then
    REPLY=${REPLY:0:${#REPLY}-1}
  fi
}

_playhead_send() {
  printf '%s\n' "$1" >&"$_playhead_out" || exit 0
}
