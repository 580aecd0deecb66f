-- What comes on stdin, back on stdout: no JSON, no frames.
io.stdout:setvbuf("line")
for line in io.lines(nil, "L") do
  io.write(line)
end
