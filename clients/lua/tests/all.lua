-- Runs every test: `lua5.4 tests/all.lua`. Exits with 1 if one failed.

local here = arg[0]:match("^(.*/)") or "./"
ROOT = here .. "../"
LUA = arg[-1] or "lua5.4"
package.path = here .. "?.lua;" .. ROOT .. "?.lua;" .. ROOT .. "?/init.lua;" .. package.path

local check = require "check"
for _, part in ipairs { "json_test", "errors_test", "message_test", "live_test", "session_test" } do require(part) end

print(("%d passed, %d failed"):format(check.passed, check.failed))
os.exit(check.failed == 0 and check.passed > 0)
