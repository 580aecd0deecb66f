-- lua5.4 host.lua FILE: serves the handler of a plain file to the daemon on stdin and stdout.
--
-- The file returns a function (event, context), or a table of them by name; behind that it may return the options of
-- `serve`. One that cannot be served ends the process with 1 and a few words on stderr.

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. here .. "?/init.lua;" .. package.path

local playhead = require "playhead_client"

local function fail(text)
  io.stderr:write("playhead: ", text, "\n")
  os.exit(1)
end

local file = arg[1]
if not file then fail("usage: lua5.4 host.lua FILE") end
-- First of all: what the file prints while it loads is no frame.
playhead.take_stdio()

-- Modules that lie beside the file are found.
local folder = file:match("^(.*/)") or "./"
package.path = folder .. "?.lua;" .. folder .. "?/init.lua;" .. package.path

local chunk, unreadable = loadfile(file)
if not chunk then fail(("cannot load %s: %s"):format(file, unreadable)) end
local loaded, functions, options = xpcall(chunk, debug.traceback)
if not loaded then fail(("cannot load %s: %s"):format(file, functions)) end
if type(functions) ~= "function" and type(functions) ~= "table" then
  fail(file .. " has no handler: return function(event, context) ... end, or a table of functions by their names")
end
options = type(options) == "table" and options or {}
options.name = options.name or file:match("([^/]+)%.lua$") or file
local _, refused = pcall(playhead.serve, functions, options)
fail(("cannot serve %s: %s"):format(file, tostring(refused)))
