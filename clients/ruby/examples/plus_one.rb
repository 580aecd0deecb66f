# frozen_string_literal: true

# An event is an integer, and so is the output: exact at any size.
def handler(event, _ctx)
  event + 1
end
