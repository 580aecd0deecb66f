-- A test is a named function that raises where something is not so; one that fails does not stop the others.

local check = { passed = 0, failed = 0 }

local function show(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local parts = {}
  for key, part in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. show(part) end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b and math.type(a) == math.type(b) end
  for key, part in pairs(a) do
    if not equal(part, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

function check.same(actual, expected, what)
  if not equal(actual, expected) then
    error(("%s\n    expected %s\n    actual   %s"):format(what or "not the same", show(expected), show(actual)), 2)
  end
end

-- The error that a function raises.
function check.raises(f, ...)
  local returned, err = pcall(f, ...)
  if returned then error("nothing was raised", 2) end
  return err
end

function check.test(name, f)
  local passed, err = xpcall(f, function(err) return debug.traceback(tostring(err), 2) end)
  check[passed and "passed" or "failed"] = check[passed and "passed" or "failed"] + 1
  if not passed then io.stderr:write("FAILED ", name, "\n    ", err, "\n") end
end

return check
