-- The machine's own time and chance, for producers; plain Lua knows seconds, so that is as fine as its clock is.

local live = {}

function live.now()
  return os.time() * 1000
end

-- Linux tells hundredths of a second since it was started; elsewhere the wall clock has to do.
function live.monotonic()
  local file = io.open("/proc/uptime", "r")
  local seconds = file and file:read("n")
  if file then file:close() end
  return seconds and seconds * 1000 or live.now()
end

function live.random()
  return math.random()
end

function live.randint(low, high)
  return math.random(low, high)
end

function live.randbytes(n)
  local file = io.open("/dev/urandom", "rb")
  local bytes = file and (file:read(n) or "")
  if file then file:close() end
  if bytes and #bytes == n then return bytes end
  local made = {}
  for i = 1, n do made[i] = string.char(math.random(0, 255)) end
  return table.concat(made)
end

-- The first k of a shuffle of 0..n-1, of which only the places that were touched are kept.
function live.sample(n, k)
  local moved, drawn = {}, {}
  for i = 0, k - 1 do
    local j = math.random(i, n - 1)
    drawn[i + 1] = moved[j] or j
    moved[j] = moved[i] or i
  end
  return drawn
end

return live
