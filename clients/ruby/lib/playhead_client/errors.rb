# frozen_string_literal: true

# What can go wrong between a handler and the daemon, each with its own class; and errors as data, `E`, both ways.
#
# `E` is {"type", "message", "args"?, "data"?, "stack"?}, `type` the bare class name. Errors.describe makes one of an
# exception, Errors.revive makes an exception of one. Nothing here reads or writes.
module PlayheadClient
  # The handler's own error, the same in every language: type and message go to the tape as they are.
  class HandlerError < StandardError
    attr_reader :type, :args, :data

    def initialize(type, message = "", args: nil, data: nil)
      super(message)
      @type = type
      @args = args
      @data = data
    end
  end

  # An error from the tape whose type has no reviver and is no class here. It leaves the handler under its type again.
  class RecordedError < HandlerError; end

  # The handler gave away something that JSON cannot carry. `pointer` (RFC 6901) says where in the value it was.
  class NotJSON < TypeError
    attr_reader :pointer

    def initialize(message, pointer = "")
      super(message)
      @pointer = pointer
    end
  end

  # The tape does not know what was asked. `kind` is the verdict's: question, order, exhausted, ... It is latched.
  class DeterminismError < StandardError
    attr_reader :kind

    def initialize(message, kind = "question")
      super(message)
      @kind = kind
    end
  end

  # The context was asked after its call had been answered.
  class CallEnded < StandardError; end

  # The daemon gave the call up while the question was open.
  class Cancelled < StandardError; end

  # The policy forbids what was asked or answered to be written.
  class Forbidden < StandardError; end

  # Larger than the largest frame, or deeper than the deepest value.
  class LimitExceeded < StandardError; end

  # The daemon refused the message as such, or sent one that is none.
  class ProtocolError < StandardError; end

  module Errors
    # What a handler or a producer may raise as an answer. The rest (exit, signals, no memory) is no answer.
    ANSWERS = [StandardError, ScriptError, SystemStackError].freeze

    BY_CODE = { -32_003 => CallEnded, -32_800 => Cancelled, -32_012 => Forbidden, -32_013 => LimitExceeded }.freeze
    OWN = [NotJSON, DeterminismError, CallEnded, Cancelled, Forbidden, LimitExceeded, ProtocolError]
          .to_h { |known| [known.name.split("::").last, known] }.freeze
    HERE = "#{__dir__}/"

    module_function

    # The exception for the `error` member of a reply to a question of the context.
    def of_reply(error)
      code, message, data = error.values_at("code", "message", "data")
      if code == -32_010
        data = {} unless data.is_a?(Hash)
        return DeterminismError.new(data.fetch("message", message).to_s, data.fetch("kind", "question").to_s)
      end
      known = BY_CODE[code]
      known ? known.new(message.to_s) : ProtocolError.new("#{message} (#{code})")
    end

    # The exception for `E`: by its registered reviver, else of a class of that name, else RecordedError.
    def revive(error, revivers = {})
      type, message = error.values_at("type", "message")
      reviver = revivers[type] || OWN[type] || top_level(type)
      made = reviver && made_by(reviver, error, message)
      made || RecordedError.new(type, message, args: error["args"], data: error["data"])
    end

    # `E` for an exception that left the handler or a producer.
    def describe(error)
      found = { "type" => error.is_a?(HandlerError) ? error.type.to_s : bare_name(error), "message" => text(error) }
      %w[args data].each do |name|
        value = error.respond_to?(name) ? error.public_send(name) : nil
        found[name] = value if !value.nil? && value != [] && carried?(value)
      end
      stack = (error.backtrace || []).reject { |line| line.start_with?(HERE) }.first(10)
      found["stack"] = Message.clean(stack.join("\n")) unless stack.empty?
      found
    end

    # The class's name without its modules; of a class without a name that of its nearest named ancestor.
    def bare_name(error)
      error.class.ancestors.find { |each| each.is_a?(Class) && each.name }.name.split("::").last
    end

    def text(error)
      Message.clean(error.message.to_s)
    rescue *ANSWERS
      ""
    end

    def carried?(value)
      Message.write(value)
      true
    rescue *ANSWERS
      false
    end

    def top_level(type)
      return nil unless type.match?(/\A[A-Z]\w*\z/) && !Object.autoload?(type) && Object.const_defined?(type, false)

      found = Object.const_get(type, false)
      found if found.is_a?(Class) && found < StandardError
    end

    # The text and the name decide: a class that would say something else than the tape must not stand for it.
    def made_by(reviver, error, message)
      unless reviver.is_a?(Class)
        made = reviver.call(error)
        return made.is_a?(Exception) ? made : nil
      end
      begin
        made = reviver.new(message)
        made if made.is_a?(Exception) && made.message == message
      rescue *ANSWERS
        nil
      end
    end

    private_class_method :carried?, :top_level, :made_by
  end
end
