# What comes on stdin, back on stdout: no JSON, no frames.
while IFS= read -r line; do
  printf '%s\n' "$line"
done
