-- A value that is read and written again is the same value; what cannot be that is refused, with its place.
--
-- This is a module of our own because no common Lua library keeps that promise. dkjson, the best kept of them,
-- writes a float with 14 digits (0.1 + 0.2 becomes 0.3), reads an integer of more than 64 bits as a rounded float,
-- writes NaN as null and a hole in an array as null, lets the second of two equal keys win, and takes texts that
-- are no JSON: comments, `[01]`, `[1,]`, `.5`, and bytes that are no UTF-8.
--
-- How values look in Lua:
--   null                    json.null, since a table cannot hold nil
--   true, false, a text     the same; a text is UTF-8, and a lone surrogate in it is three bytes (ED A0 80 ..)
--   an integer              an integer; beyond 64 bits a BigInteger, which has its digits and no arithmetic
--   a number with . or e    a float
--   an array                a table 1..n; the reader marks it (json.array), so that an empty one stays an array
--   an object               a table with text keys; `{}` without a mark is an object

local errors = require "playhead_client.errors"

-- The deepest value, until `initialize` says otherwise.
local json = { depth = 1000 }

local byte, char, find, sub, match = string.byte, string.char, string.find, string.sub, string.match
local format, gsub, concat = string.format, string.gsub, table.concat
local mathtype, huge = math.type, math.huge

json.null = setmetatable({}, { __name = "playhead.null", __tostring = function() return "null" end })

local Array = { __name = "playhead.array" }

-- Marks a table as an array, so that it is one even when it is empty.
function json.array(list)
  return setmetatable(list or {}, Array)
end

local BigInteger = { __name = "playhead.BigInteger" }
BigInteger.__tostring = function(number) return number.digits end
BigInteger.__eq = function(a, b) return a.digits == b.digits end

-- An integer that Lua cannot count with. Any other number than such a one comes back as Lua has it.
function json.integer(digits)
  if type(digits) ~= "string" or not (match(digits, "^%-?[1-9]%d*$") or match(digits, "^%-?0$")) then
    error("an integer is written as digits", 2)
  end
  local number = tonumber(digits)
  if mathtype(number) == "integer" then return number end
  if number == huge or number == -huge then error("an integer beyond float64", 2) end
  return setmetatable({ digits = digits }, BigInteger)
end

-- A text that is JSON already: what the writer made of a value before, put into a frame as it is.
local Written = { __name = "playhead.written" }

function json.written(text)
  return setmetatable({ text = text }, Written)
end

-- Reading ------------------------------------------------------------------------------------------------------------

local function bad(position, what)
  error(errors.ProtocolError(format("not JSON at byte %d: %s", position, what)), 0)
end

-- What follows a backslash, and what it stands for; `u` is followed by four digits.
local PLAIN = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/",
  b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

-- The character of the escape \u at `at`, and the place behind it. Two escapes that are a pair are one character; one
-- half alone keeps its own three bytes, which no valid UTF-8 has, so that the writer knows it again.
local function code_point(raw, at, start)
  local hex = match(raw, "^%x%x%x%x", at + 2)
  if not hex then bad(start + at - 1, "an escape \\u without four digits") end
  local code, after = tonumber(hex, 16), at + 6
  local low = code >= 0xD800 and code <= 0xDBFF and match(raw, "^\\u([dD][c-fC-F]%x%x)", after)
  if low then
    code, after = 0x10000 + (code - 0xD800) * 0x400 + (tonumber(low, 16) - 0xDC00), after + 6
  end
  return utf8.char(code), after
end

local function unescape(raw, start)
  if not find(raw, "\\u", 1, true) then return (gsub(raw, "\\(.)", PLAIN)) end
  local parts, from = {}, 1
  while true do
    local at = find(raw, "\\", from, true)
    if not at then break end
    local letter, piece = sub(raw, at + 1, at + 1), sub(raw, from, at - 1)
    parts[#parts + 1] = piece
    piece, from = PLAIN[letter], at + 2
    if letter == "u" then piece, from = code_point(raw, at, start) end
    parts[#parts + 1] = piece
  end
  parts[#parts + 1] = sub(raw, from)
  return concat(parts)
end

-- `at` is the place behind the opening quote.
local function read_string(text, at)
  local from, escaped = at, false
  while true do
    local stop = match(text, '^[^"\\\0-\31]*()', from)
    local found = byte(text, stop)
    if found == 34 then
      local raw = sub(text, at, stop - 1)
      return escaped and unescape(raw, at) or raw, stop + 1
    elseif found == 92 then
      local letter = sub(text, stop + 1, stop + 1)
      if letter ~= "u" and not PLAIN[letter] then bad(stop, "an unknown escape") end
      escaped, from = true, stop + 2
    else
      bad(stop, found and "a control character in a text" or "a text that does not end")
    end
  end
end

local function read_number(text, at)
  local token = match(text, "^[-+.%deE]+", at)
  local whole, rest = match(token, "^(%-?%d+)(.*)$")
  if not whole or match(whole, "^%-?0%d") then bad(at, "not a number") end
  local after = at + #token
  if rest == "" then
    local number = tonumber(whole)
    if mathtype(number) == "integer" then return number, after end
    if number == huge or number == -huge then bad(at, "a number beyond float64") end
    return json.integer(whole), after
  end
  local exponent = gsub(rest, "^%.%d+", "")
  if exponent ~= "" and not match(exponent, "^[eE][-+]?%d+$") then bad(at, "not a number") end
  local number = tonumber(token)
  if number == huge or number == -huge then bad(at, "a number beyond float64") end
  return number, after
end

local function past_space(text, at)
  return find(text, "[^ \t\r\n]", at) or #text + 1
end

local read

local function read_array(text, at, depth)
  local list, n = json.array(), 0
  at = past_space(text, at)
  if byte(text, at) == 93 then return list, at + 1 end
  while true do
    n = n + 1
    list[n], at = read(text, at, depth)
    at = past_space(text, at)
    local mark = byte(text, at)
    if mark == 93 then return list, at + 1 end
    if mark ~= 44 then bad(at, "neither , nor ]") end
    at = past_space(text, at + 1)
  end
end

local function read_object(text, at, depth)
  local object, key = {}, nil
  at = past_space(text, at)
  if byte(text, at) == 125 then return object, at + 1 end
  while true do
    local begin = at
    if byte(text, at) ~= 34 then bad(at, "a key that is no text") end
    key, at = read_string(text, at + 1)
    if object[key] ~= nil then bad(begin, "a key that comes twice") end
    at = past_space(text, at)
    if byte(text, at) ~= 58 then bad(at, "no : behind a key") end
    object[key], at = read(text, past_space(text, at + 1), depth)
    at = past_space(text, at)
    local mark = byte(text, at)
    if mark == 125 then return object, at + 1 end
    if mark ~= 44 then bad(at, "neither , nor }") end
    at = past_space(text, at + 1)
  end
end

local WORDS = { t = { "true", true }, f = { "false", false }, n = { "null", json.null } }

function read(text, at, depth)
  local first = sub(text, at, at)
  if first == '"' then
    return read_string(text, at + 1)
  elseif first == "{" or first == "[" then
    if depth == 0 then bad(at, "too deep") end
    return (first == "{" and read_object or read_array)(text, at + 1, depth - 1)
  elseif find(first, "[-%d]") then
    return read_number(text, at)
  end
  local word = WORDS[first]
  if not word or sub(text, at, at + #word[1] - 1) ~= word[1] then bad(at, "not a value") end
  return word[2], at + #word[1]
end

-- The value of a JSON text, with at most `depth` arrays and objects open at once.
function json.decode(text, depth)
  local valid, where = utf8.len(text)
  if not valid then bad(where, "not UTF-8") end
  local value, after = read(text, past_space(text, 1), depth or json.depth)
  after = past_space(text, after)
  if after <= #text then bad(after, "text behind the value") end
  return value
end

-- Writing ------------------------------------------------------------------------------------------------------------

local ESCAPES = {
  ['"'] = '\\"', ["\\"] = "\\\\",
  ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t",
}
for code = 0, 31 do
  ESCAPES[char(code)] = ESCAPES[char(code)] or format("\\u%04x", code)
end

local function pointer(path)
  local parts = {}
  for i, step in ipairs(path) do
    local key = type(step) == "number" and format("%d", step - 1) or gsub(gsub(step, "~", "~0"), "/", "~1")
    parts[i] = "/" .. key
  end
  return concat(parts)
end

local function refuse(path, what)
  local place = pointer(path)
  local where = place == "" and "" or " at " .. place
  error(errors.NotJSON(what .. where .. " is not JSON", { pointer = place }), 0)
end

local function write_string(text, out, path)
  local plain = match(text, '^[^"\\\0-\31]*()') > #text
  local quoted = plain and text or gsub(text, '["\\\0-\31]', ESCAPES)
  if not utf8.len(quoted) then
    quoted = gsub(quoted, "\xED([\xA0-\xBF])([\x80-\xBF])", function(middle, last)
      return format("\\u%04x", 0xD000 + (byte(middle) & 0x3F) * 0x40 + (byte(last) & 0x3F))
    end)
    if not utf8.len(quoted) then refuse(path, "a text that is not UTF-8") end
  end
  out[#out + 1] = '"' .. quoted .. '"'
end

-- The fewest digits of %g that read back the same: where 15 do, it has dropped the zeros of a shorter text, but the
-- numbers next to zero have fewer digits than that. The text always has a point or an exponent, so that a float stays
-- one; and the point is a point in every locale.
local function write_float(number, out, path)
  if number ~= number then refuse(path, "NaN") end
  if number == huge or number == -huge then refuse(path, "an infinity") end
  local text
  local tiny = number ~= 0 and number < 0x1p-1022 and number > -0x1p-1022
  for digits = tiny and 1 or 15, 17 do
    text = format("%." .. digits .. "g", number)
    if tonumber(text) == number then break end
  end
  text = gsub(text, "[^-+%de]", ".")
  out[#out + 1] = find(text, "[.e]") and text or text .. ".0"
end

local write

local function count_keys(value)
  local n = 0
  for _ in next, value do n = n + 1 end
  return n
end

local function write_array(list, out, path, open)
  local n, level = rawlen(list), #path + 1
  for key in next, list do
    if mathtype(key) ~= "integer" then
      refuse(path, format("a table with the key %s in an array", tostring(key)))
    end
  end
  if count_keys(list) ~= n then refuse(path, "an array with a hole") end
  out[#out + 1] = "["
  for i = 1, n do
    if i > 1 then out[#out + 1] = "," end
    path[level] = i
    write(rawget(list, i), out, path, open)
  end
  path[level] = nil
  out[#out + 1] = "]"
end

local function write_object(object, out, path, open)
  local level, separator = #path + 1, "{"
  for key, value in next, object do
    if type(key) ~= "string" then
      refuse(path, format("an object with the key %s, a %s,", tostring(key), type(key)))
    end
    path[level] = key
    out[#out + 1] = separator
    separator = ","
    write_string(key, out, path)
    out[#out + 1] = ":"
    write(value, out, path, open)
  end
  path[level] = nil
  out[#out + 1] = separator == "{" and "{}" or "}"
end

local function write_table(value, out, path, open)
  local mark = getmetatable(value)
  if value == json.null then
    out[#out + 1] = "null"
  elseif mark == BigInteger then
    out[#out + 1] = value.digits
  elseif mark == Written then
    out[#out + 1] = value.text
  else
    if open[value] then refuse(path, "a table that holds itself") end
    if #path - path.base >= json.depth then refuse(path, ("a value more than %d deep"):format(json.depth)) end
    open[value] = true
    local first = next(value)
    local list = mark == Array or (first ~= nil and (rawlen(value) > 0 or mathtype(first) == "integer"))
    ;(list and write_array or write_object)(value, out, path, open)
    open[value] = nil
  end
end

function write(value, out, path, open)
  local kind = type(value)
  if kind == "string" then
    write_string(value, out, path)
  elseif kind == "number" then
    if mathtype(value) == "integer" then
      out[#out + 1] = format("%d", value)
    else
      write_float(value, out, path)
    end
  elseif kind == "boolean" then
    out[#out + 1] = tostring(value)
  elseif kind == "table" then
    write_table(value, out, path, open)
  elseif kind == "nil" then
    out[#out + 1] = "null"
  else
    refuse(path, "a " .. kind)
  end
end

-- The JSON text of a value. Keys come in the order in which Lua has them. `member` is the name that the value has
-- where it is put: it begins the pointers, and is no level of the value.
function json.encode(value, member)
  local out = {}
  write(value, out, { member, base = member and 1 or 0 }, {})
  return concat(out)
end

-- The text of an object: a name, its value, the next name, and so on, in this order. A member that is nil is left out.
-- Each value may be as deep as any, and pointers begin with its name.
function json.object(...)
  local members = {}
  for i = 1, select("#", ...), 2 do
    local name, value = select(i, ...)
    if value ~= nil then members[#members + 1] = '"' .. name .. '":' .. json.encode(value, name) end
  end
  return "{" .. concat(members, ",") .. "}"
end

return json
