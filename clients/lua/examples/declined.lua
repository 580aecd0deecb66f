-- Raises an error that is the same in every language.

local playhead = require "playhead_client"

return function() error(playhead.HandlerError("Declined", "no funds")) end
