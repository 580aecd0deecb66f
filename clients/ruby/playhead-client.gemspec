# frozen_string_literal: true

require_relative "lib/playhead_client/version"

Gem::Specification.new do |spec|
  spec.name = "playhead-client"
  spec.version = PlayheadClient::VERSION
  spec.summary = "Handlers for playhead: record an incident once, replay it for ever."
  spec.authors = ["The playhead authors"]
  spec.license = "Apache-2.0"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir["lib/**/*.rb", "host.rb", "README.md", "CHANGELOG.md"]
  spec.require_paths = ["lib"]
end
