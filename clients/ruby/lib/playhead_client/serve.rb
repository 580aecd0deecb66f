# frozen_string_literal: true

require_relative "version"

# Takes stdin and stdout for the protocol, and answers the daemon until the input ends.
module PlayheadClient
  PROTOCOL = 1

  module_function

  # Serves a handler (anything with `call(event, ctx)`, or a block), or several: {name => handler}. Does not return.
  #
  # `reset` is called with the daemon's constants and makes the handler as good as new; only then is it offered.
  def serve(handlers = nil, name: nil, constants: {}, revivers: {}, reset: nil, &block)
    streams = take_stdio
    handlers ||= block
    functions = handlers.respond_to?(:call) ? { "handler" => handlers } : handlers.to_h.transform_keys(&:to_s)
    raise ArgumentError, "nothing to serve: give a handler, or {name => handler}" if functions.empty?

    lacking = functions.find { |_, function| !function.respond_to?(:call) }
    raise ArgumentError, "the function #{lacking[0]} cannot be called" if lacking

    Server.new(Peer.new(*streams), functions, name || "handler", constants, revivers.transform_keys(&:to_s), reset).run
  end

  # The real stdin and stdout, for the protocol alone. What is printed, by whatever way, goes to stderr, and what reads
  # finds the end. The second time: what the first gave. No child inherits what is given.
  def take_stdio
    @take_stdio ||= begin
      streams = [$stdin.dup, STDOUT.dup]
      $stdin.reopen(File::NULL)
      STDOUT.reopen(STDERR)
      STDOUT.sync = true
      STDERR.sync = true
      streams
    end
  end

  class Server
    def initialize(peer, functions, name, constants, revivers, reset)
      @peer = peer
      @functions = functions
      @name = name
      @constants = constants
      @revivers = revivers
      @reset = reset
      @initialized = false
    end

    def run
      loop { take(@peer.next_message) }
    end

    private

    def take(message)
      # Notifications that come here are of calls that are over, or unknown.
      return unless message.key?("id")

      id = Message.write(message["id"])
      method = message["method"]
      params = message["params"] || {}
      return initialize_with(id, params) if method == "initialize"
      return refuse(id, -32_002, "initialize has not been answered") unless @initialized

      case method
      when "handle" then handle(id, params)
      when "shutdown" then @peer.answer(id, "result", "{}")
      when "reset" then reset(id, params)
      else refuse(id, -32_601, "no such method")
      end
    end

    def initialize_with(id, params)
      unless params["protocol"].is_a?(Integer) && params["protocol"] >= PROTOCOL
        return refuse(id, -32_001, "no common protocol version", { supported: [PROTOCOL] })
      end

      limit = params.dig("limits", "frameBytes")
      @peer.frame_bytes = limit if limit.is_a?(Integer)
      offered = params["capabilities"] || {}
      has = { "window" => true }
      has["reset"] = true if @reset
      @initialized = true
      @peer.answer(id, "result", Message.write(
        {
          protocol: PROTOCOL,
          handler: { name: @name, version: VERSION, language: "ruby", runtime: "#{RUBY_ENGINE} #{RUBY_VERSION}" },
          functions: @functions.keys,
          capabilities: has.select { |capability, _| offered[capability] == true },
          constants: @constants
        }
      ))
    end

    def refuse(id, code, message, data = nil)
      error = { code: code, message: Message.clean(message) }
      error[:data] = data if data
      @peer.answer(id, "error", Message.write(error))
    end

    def reset(id, params)
      return refuse(id, -32_601, "no such method") unless @reset

      @peer.empty_feed
      begin
        @reset.arity.zero? ? @reset.call : @reset.call(params["constants"] || {})
      rescue *Errors::ANSWERS => e
        warn "playhead_client: reset: #{e.full_message(highlight: false)}"
        return refuse(id, -32_603, "reset failed", { reference: "stderr" })
      end
      @peer.answer(id, "result", "{}")
    end

    def handle(id, params)
      function = @functions[params["fn"]]
      return refuse(id, -32_602, "no function named #{params["fn"]}") unless function

      unless params["call"].is_a?(Integer) && params["seq"].is_a?(Integer) && params.key?("event")
        return refuse(id, -32_602, "handle has a call, a seq and an event")
      end

      window = params["window"]
      call = Call.new(params["call"], params["fn"], params["seq"], window ? window["produce"] == true : false)
      @peer.open(call, window)
      @peer.answer(id, "result", outcome(call, function, params["event"]), call)
    end

    def outcome(call, function, event)
      begin
        raise Cancelled, Peer::CANCELLED if call.cancelled

        output = function.call(event, Context.new(@peer, call, @revivers))
        @peer.settled(call)
        text = @peer.fits("{\"output\":#{Message.write(output, "the output")}}")
      rescue *Errors::ANSWERS => e
        text = raised(Errors.describe(e))
      end
      call.cancelled ? raised({ type: "Cancelled", message: Peer::CANCELLED }) : text
    end

    def raised(error)
      "{\"raised\":#{Message.write(error)}}"
    end
  end

  private_constant :Server
end
