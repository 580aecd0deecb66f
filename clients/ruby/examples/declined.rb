# frozen_string_literal: true

# An error that is the same in every language: its type and message are the handler's answer.
def handler(_event, _ctx)
  raise PlayheadClient::HandlerError.new("Declined", "no funds")
end
