-- The whole of what a handler's author sees.

local errors = require "playhead_client.errors"
local json = require "playhead_client.json"

return {
  version = "0.1.0",
  serve = require "playhead_client.serve",
  take_stdio = require("playhead_client.framing").take,
  HandlerError = errors.HandlerError,
  null = json.null,
  array = json.array,
  integer = json.integer,
}
