-- What is read and written again is the same, and what is no JSON is refused with its place.

local check = require "check"
local json = require "playhead_client.json"
local test, same, raises = check.test, check.same, check.raises

for _, text in ipairs {
  "null", "true", "false", '""', "0", "[]", "{}", "[[],{}]", "[null,false,0,\"\"]", '{"a":null}', '{"":[{}]}',
  "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
  "-1234567890123456789012345678901", "4.0", "0.1", "0.30000000000000004", "0.2604658124037087", "5e-324",
  "1.7976931348623157e+308", "2.2250738585072014e-308", "-1.5", "-0.0",
  [["\"\\\b\f\n\r\t\u0000\u001f"]], '"\u{2028}\u{85}\u{FEFF}\u{FFFF}\u{1F600}"', [["\ud83d"]], [["a\udc00b\udfff"]],
  '"\127"',
} do
  test("round trip of " .. text, function() same(json.encode(json.decode(text)), text) end)
end

test("numbers are read as what they are", function()
  same(json.decode("1e2"), 100.0)
  same(json.decode("100"), 100)
  same(json.decode("4.0"), 4.0)
  same(json.decode(" -0.5e+1 "), -5.0)
end)

test("an integer beyond 64 bits keeps its digits and does not count", function()
  local big = json.decode("18446744073709551616")
  same(tostring(big), "18446744073709551616")
  same(big == json.integer("18446744073709551616"), true)
  same(json.integer("41"), 41)
  raises(function() return big + 1 end)
end)

test("escapes are read as what they stand for", function()
  same(json.decode [["\u0041\/\ud83d\ude00\\u0041"]], "A/\u{1F600}\\u0041")
  same(json.decode [["\\n\n"]], "\\n\n")
end)

test("the float has a point in every locale", function()
  for _, name in ipairs { "de_DE.UTF-8", "fr_FR.UTF-8" } do
    if os.setlocale(name, "numeric") then break end
  end
  local text, number = json.encode(0.5), json.decode("2.5")
  os.setlocale("C", "numeric")
  same({ text, number }, { "0.5", 2.5 })
end)

test("tables without a mark", function()
  same(json.encode {}, "{}")
  same(json.encode(json.array {}), "[]")
  same(json.encode { 1, json.null, { a = 1 } }, '[1,null,{"a":1}]')
  same(json.encode(nil), "null")
end)

test("1000 levels are a value, and 1001 are not", function()
  local deep = ("["):rep(1000) .. ("]"):rep(1000)
  same(json.encode(json.decode(deep)), deep)
  raises(json.decode, "[" .. deep .. "]")
  same(raises(json.encode, { json.decode(deep) }).data.pointer, ("/0"):rep(1000))
end)

test("members have an order, are as deep as any value, and begin their pointers with their name", function()
  local deep = json.decode(("["):rep(1000) .. ("]"):rep(1000))
  local written = json.written '[ 1 ]'
  same(json.object("b", 1, "a", nil, "data", deep, "c", written),
    '{"b":1,"data":' .. ("["):rep(1000) .. ("]"):rep(1000) .. ',"c":[ 1 ]}')
  same(json.object("a", nil), "{}")
  same(raises(json.object, "args", { 1, print }).data.pointer, "/args/1")
end)

local itself = { a = {} }
itself.a.b = { itself }

for name, case in pairs {
  NaN = { { items = { 1, 0 / 0 } }, "/items/1" },
  infinity = { { -math.huge }, "/0" },
  ["a function"] = { { a = { b = print } }, "/a/b" },
  ["a coroutine"] = { { coroutine.create(print) }, "/0" },
  ["the value itself"] = { print, "" },
  ["a cycle"] = { itself, "/a/b/0" },
  ["a hole"] = { { a = { 1, nil, 3 } }, "/a" },
  ["a key that is an integer"] = { { a = { [7] = 1 } }, "/a" },
  ["a key that is a boolean"] = { { a = { [true] = 1 } }, "/a" },
  ["a table that is both"] = { { 1, 2, x = 3 }, "" },
  ["bytes"] = { { ["a/b~c"] = "\xff\xfe" }, "/a~1b~0c" },
  ["a key of bytes"] = { { a = { ["\xc0\x80"] = 1 } }, "/a/\xc0\x80" },
} do
  test("refused with its place: " .. name, function()
    local err = raises(json.encode, case[1])
    same({ err.type, err.data.pointer }, { "NotJSON", case[2] })
    same(err.message:find(case[2], 1, true) ~= nil, true, err.message)
  end)
end

test("the same table twice is no cycle", function()
  local part = { 1 }
  same(json.encode { part, part }, "[[1],[1]]")
end)

for _, text in ipairs {
  "", " ", "{", "[", "[1", "[1,]", "[,1]", "[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "{1:1}", "nul", "NaN",
  "Infinity", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10", "1.2.3", "1e400", "-1e400", "1 2", "[] x",
  '"', '"\t"', '"\n"', [["\q"]], [["\u12"]], [["\]], "'a'", "// a\n1", '{"a":1,"a":2}', [[{"a":1,"\u0061":2}]],
  '"\xff"', '"\xed\xa0\x80"', "\xef\xbb\xbf1", ("9"):rep(400),
} do
  test("not read: " .. text, function() same(raises(json.decode, text).type, "ProtocolError") end)
end
