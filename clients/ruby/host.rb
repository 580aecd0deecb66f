# frozen_string_literal: true

# ruby host.rb FILE: serves the handler of a plain file to the daemon on stdin and stdout.
#
# The file defines the method handler(event, ctx), or the constant FUNCTIONS, {name => callable}; it may have REVIVERS,
# CONSTANTS, and a method reset(constants). One that cannot be served ends the process with 1 and a few words on stderr.
$LOAD_PATH.unshift(File.join(__dir__, "lib"))
require "playhead_client"

module PlayheadHost
  module_function

  def main(path)
    # First of all: what the file prints while it loads is no frame.
    PlayheadClient.take_stdio
    return fail!("usage: ruby host.rb FILE") if path.nil?

    begin
      load File.expand_path(path)
    rescue *PlayheadClient::Errors::ANSWERS => e
      return fail!("cannot load #{path}: #{shown(e)}")
    end
    functions = functions_of
    return fail!("#{path} has no handler: def handler(event, ctx) ... end, or FUNCTIONS = {name => ...}") if functions.nil?

    PlayheadClient.serve(
      functions,
      name: File.basename(path, ".*"),
      constants: constant(:CONSTANTS) || {},
      revivers: constant(:REVIVERS) || {},
      reset: top_level(:reset)
    )
  rescue ArgumentError => e
    fail!("cannot serve #{path}: #{e.message}")
  end

  def functions_of
    single = top_level(:handler)
    several = constant(:FUNCTIONS)
    return single if several.nil?

    (single ? { "handler" => single } : {}).merge(several.transform_keys(&:to_s))
  end

  def top_level(name)
    main = TOPLEVEL_BINDING.receiver
    main.respond_to?(name, true) ? main.method(name) : nil
  end

  def constant(name)
    Object.const_defined?(name, false) ? Object.const_get(name, false) : nil
  end

  def shown(error)
    where = (error.backtrace || []).reject { |line| line.start_with?(__FILE__) }.first(3)
    ["#{error.class}: #{error.message}", *where].join("\n  ")
  end

  def fail!(message)
    warn "playhead: #{message}"
    exit 1
  end
end

PlayheadHost.main(ARGV.shift)
