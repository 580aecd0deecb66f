# frozen_string_literal: true

module PlayheadClient
  VERSION = "0.1.0"
end
