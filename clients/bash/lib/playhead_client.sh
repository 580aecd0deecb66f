# Handlers for playhead in Bash: `source` this, define functions, and call playhead_serve.
#
# Nothing here forks for a question. What a function gives is in REPLY.

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501)); then
  printf 'playhead: Bash 5.1 or newer is needed, and this is %s\n' "$BASH_VERSION" >&2
  exit 1
fi

PLAYHEAD_VERSION=0.1.0

for _playhead_part in framing message errors peer context serve; do
  source "${BASH_SOURCE[0]%/*}/playhead_client/$_playhead_part.sh"
done
unset _playhead_part
