-- The event plus one, exact for every integer of 64 bits.

return function(event) return event + 1 end
