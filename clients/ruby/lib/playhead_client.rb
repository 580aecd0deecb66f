# frozen_string_literal: true

# Handlers for playhead in Ruby: PlayheadClient.serve takes stdin and stdout and answers the daemon until the input ends.
require_relative "playhead_client/errors"
require_relative "playhead_client/message"
require_relative "playhead_client/framing"
require_relative "playhead_client/peer"
require_relative "playhead_client/context"
require_relative "playhead_client/serve"
