-- A frame is one line, and the streams that carry frames are nobody else's.
--
-- Lua can neither duplicate a descriptor nor close 0 and 1. So the two files are kept here, and everything through
-- which Lua code prints and reads is pointed elsewhere: `print`, `io.write`, `io.stdout` go to stderr, `io.read` and
-- `io.stdin` find the end. Programs that a handler starts would inherit the descriptors themselves; `os.execute` and
-- `io.popen` have the shell point those elsewhere first.

local errors = require "playhead_client.errors"

-- The largest frame, its LF not counted, until `initialize` says otherwise.
local framing = { limit = 67108864 }

local taken

local function redirect_children()
  local execute, popen = os.execute, io.popen
  function os.execute(command)
    if command == nil then return execute() end
    return execute("exec </dev/null 1>&2\n" .. command)
  end
  function io.popen(command, mode)
    local reads = (mode or "r") == "r"
    return popen((reads and "exec </dev/null\n" or "exec 1>&2\n") .. command, mode)
  end
end

-- Takes stdin and stdout for the protocol, once, and gives both. To be called before any handler code is loaded.
function framing.take()
  if taken then return taken.input, taken.output end
  taken = { input = io.stdin, output = io.stdout }
  taken.output:setvbuf("full")
  local stderr = io.stderr
  io.stdout = stderr
  io.output(stderr)
  io.stdin = io.open("/dev/null", "r") or io.tmpfile()
  io.input(io.stdin)
  function print(...)
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    stderr:write(table.concat(texts, "\t", 1, texts.n), "\n")
  end
  redirect_children()
  return taken.input, taken.output
end

-- The next frame, or nil at the end of the input. What the end cut off is no frame. Only LF ends one; a CR before it
-- is not part of it.
function framing.read(input)
  local line = input:read("L")
  if not line or line:byte(-1) ~= 10 then return nil end
  local size = line:byte(-2) == 13 and #line - 2 or #line - 1
  if size > framing.limit then error(errors.LimitExceeded(framing.limit, size), 0) end
  return line:sub(1, size)
end

-- Writes one frame, whole. It goes out with the next flush.
function framing.write(output, text)
  if #text > framing.limit then error(errors.LimitExceeded(framing.limit, #text), 0) end
  output:write(text, "\n")
end

return framing
