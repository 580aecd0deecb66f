# frozen_string_literal: true

require "securerandom"

# What a handler is given. Everything that could differ between two runs comes from here.
module PlayheadClient
  class Context
    def initialize(peer, call, revivers, lane = nil)
      @peer = peer
      @call = call
      @revivers = revivers
      @members = lane ? ",\"lane\":#{Message.write(lane.to_s)}" : ""
      @now = item("now", @members)
      @random = item("random", @members)
    end

    # The event's index from 0.
    def seq
      @call.seq
    end

    # The daemon's number of the call.
    def call
      @call.number
    end

    # The name of the function that was called.
    def fn
      @call.fn
    end

    # Whether the call has been answered; what is asked then raises CallEnded.
    def over?
      @call.over ? true : false
    end

    # Milliseconds since the Unix epoch.
    def now
      return Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) if live?

      @peer.take(@call, :now, @now) || scalar("now", @members)
    end

    # Milliseconds of a clock that never goes back.
    def monotonic
      return Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond) if live?

      scalar("now", ",\"clock\":\"monotonic\"#{@members}")
    end

    # A float in [0, 1).
    def random
      return Random.rand if live?

      @peer.take(@call, :random, @random) || scalar("random", @members)
    end

    # An integer from low to high, both included.
    def randint(low, high)
      return SecureRandom.random_number(low..high) if live?

      scalar("random", ",\"draw\":\"int\",\"low\":#{Integer(low)},\"high\":#{Integer(high)}#{@members}")
    end

    # n bytes, a binary String.
    def randbytes(n)
      return Random.bytes(n) if live?

      [scalar("random", ",\"draw\":\"bytes\",\"n\":#{Integer(n)}#{@members}")].pack("H*")
    end

    # k different items of an Array, a Range or whatever has to_a; of an Integer n, k different numbers below n.
    def sample(items, k)
      from = items.is_a?(Integer) ? items : items.to_a
      count = from.is_a?(Integer) ? from : from.size
      positions = if live?
                    (0...count).to_a.sample(k)
                  else
                    scalar("random", ",\"draw\":\"sample\",\"n\":#{count},\"k\":#{Integer(k)}#{@members}")
                  end
      from.is_a?(Integer) ? positions : from.values_at(*positions)
    end

    # A UUID of version 4.
    def uuid
      bytes = randbytes(16).bytes
      bytes[6] = bytes[6] & 0x0F | 0x40
      bytes[8] = bytes[8] & 0x3F | 0x80
      bytes.pack("C*").unpack("H8H4H4H4H12").join("-")
    end

    # What the outside world answers: on record what the block returns or raises, on replay what the tape holds.
    def respond(key, args: [], kwargs: {}, &produce)
      start(key, args: args, kwargs: kwargs, &produce).wait
    end

    # The first half of `respond`: the question is out when this returns. The block runs in `wait` of what it gives.
    def start(key, args: [], kwargs: {}, &produce)
      raise ArgumentError, "respond(#{key.inspect}) needs a block that produces the answer" unless produce

      Question.new(@peer, @call, @revivers, live?, key.to_s, question(key, args, kwargs), produce)
    end

    # Says something about what the handler does.
    def note(name, data = nil, **more)
      tell("note", ",\"name\":#{Message.write(name.to_s)}#{data_of(data, more)}")
    end

    # Says what the handler believes about the world.
    def observe(name, value)
      tell("observe", ",\"name\":#{Message.write(name.to_s)},\"value\":#{Message.write(value, name.to_s)}")
    end

    # A piece of work begins. With a block it ends with it; without, `end_with(outcome)` of what it gives ends it.
    def span(name, data = nil, **more)
      sid = @call.spans += 1
      about = "\"name\":#{Message.write(name.to_s)}"
      tell("span", ",\"sid\":#{sid},\"phase\":\"begin\",#{about}#{data_of(data, more)}")
      span = Span.new do |outcome|
        text = outcome.nil? ? "" : ",\"outcome\":#{Message.write(outcome, "the outcome")}"
        tell("span", ",\"sid\":#{sid},\"phase\":\"end\",#{about}#{text}")
      end
      return span unless block_given?

      begin
        yield span
      ensure
        span.end_with(span.outcome)
      end
    end

    # Says that something outside the tape was reached.
    def escaped(key, where = nil)
      place = where.nil? ? "" : ",\"where\":#{Message.write(where.to_s)}"
      tell("escaped", ",\"key\":#{Message.write(key.to_s)}#{place}")
    end

    # The same context for a thread that asks at its own pace: its questions have an order among themselves only.
    def lane(name)
      Context.new(@peer, @call, @revivers, name)
    end

    # Without the connection, which nobody wants to see.
    def inspect
      "#<#{self.class} call=#{call} seq=#{seq} fn=#{fn}>"
    end

    private

    # In a producer the machine answers, and nothing is sent.
    def live?
      !@call.producing.empty? && @call.producing.include?(Thread.current)
    end

    def scalar(method, members)
      _, waiter = @peer.ask(@call, method, members, :scalar)
      @peer.wait(waiter)
    end

    def tell(method, members)
      @peer.tell(@call, method, "#{members}#{@members}") unless live?
      nil
    end

    def item(method, members)
      members.empty? ? "{\"m\":\"#{method}\"}" : "{\"m\":\"#{method}\",\"p\":{#{members[1..]}}}"
    end

    def question(key, args, kwargs)
      text = ",\"key\":#{Message.write(key.to_s)}"
      text << ",\"args\":#{Message.write(args.to_a, "args")}" unless args.empty?
      text << ",\"kwargs\":#{Message.write(kwargs.to_h, "kwargs")}" unless kwargs.empty?
      @peer.fits(text << @members)
    end

    def data_of(data, more)
      data = data.nil? && !more.empty? ? more : data
      data.nil? ? "" : ",\"data\":#{Message.write(data, "data")}"
    end
  end

  # A piece of work that has begun.
  class Span
    attr_accessor :outcome

    def initialize(&finish)
      @finish = finish
    end

    def end_with(outcome = nil)
      finish, @finish = @finish, nil
      finish&.call(outcome)
      nil
    end
  end

  # A `respond` that has been asked. `wait` gives its answer, again and again.
  class Question
    def initialize(peer, call, revivers, live, key, members, produce)
      @peer = peer
      @call = call
      @revivers = revivers
      @live = live
      @key = key
      @produce = produce
      return if live

      @ask, @given = peer.take_answer(call, key, "{\"m\":\"respond\",\"p\":{#{members[1..]}}}")
      @ask, @waiter = peer.ask(call, "respond", members, :respond) unless @given
    end

    # The answer: what was answered, or what the producer gives if this is a recording; an error is raised.
    def wait
      return @produce.call if @live

      outcome = (@outcome ||= answer)
      raise outcome["raise"] if outcome.key?("raise")
      return outcome["value"] if outcome.key?("value")

      raise Errors.revive(outcome["error"], @revivers)
    end

    private

    def answer
      given = @given || @peer.wait(@waiter)
      return given if given.key?("value") || given.key?("error")

      produced
    end

    def produced
      value = @peer.produce(@call) { Message.through_json(@produce.call, @key).tap { |_, text| @peer.fits(text) } }
    rescue Cancelled => e
      raise if @call.cancelled

      settle_error(e)
    rescue *Errors::ANSWERS => e
      settle_error(e)
    else
      @peer.settle(@call, @ask, ",\"value\":#{value[1]}")
      { "value" => value[0] }
    end

    # The handler gets what it will get on replay, and the original as its cause.
    def settle_error(original)
      error, text = Message.through_json(Errors.describe(original))
      @peer.settle(@call, @ask, ",\"error\":#{text}")
      raise Errors.revive(error, @revivers)
    rescue *Errors::ANSWERS => e
      { "raise" => e }
    end
  end
end
