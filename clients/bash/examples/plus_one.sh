# An event is an integer, and so is the output: exact up to 64 bits.

handler() { json.integer "$1" && REPLY=$((REPLY + 1)); }
