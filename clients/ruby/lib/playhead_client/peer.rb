# frozen_string_literal: true

# One end of the conversation: questions go out, answers find whoever waits, whichever thread that is.
#
# Whoever waits reads, for all; nobody else has to be there for it. One more thread looks in where a call has run on for
# a while without reading: so the end of the input ends a process whose handler sleeps, and a cancel a producer that does.
# Left out: what the requests mean (serve), what is asked (context).
module PlayheadClient
  # A call that the daemon wants answered, and what its context shares with the peer.
  class Call
    attr_reader :number, :fn, :seq, :producing
    attr_accessor :asks, :taken, :spans, :unsettled, :failure, :cancelled, :over, :produce

    def initialize(number, fn, seq, produce)
      @number = number
      @fn = fn
      @seq = seq
      @produce = produce # The window says that answers are produced here, and that nobody waits for that.
      @asks = 0
      @spans = 0
      @taken = []        # Items that `asked` has yet to report.
      @unsettled = 0     # Settlements whose replies are not here yet.
      @producing = []    # Threads that run a producer.
    end
  end

  # Raised in a producer whose call was cancelled. No StandardError, so that `rescue => e` lets it through.
  class Abandoned < Exception; end # rubocop:disable Lint/InheritException

  class Peer
    Waiter = Struct.new(:call, :kind, :message)
    private_constant :Waiter

    GLANCE = 0.02 # Seconds a call runs on before somebody else reads.

    attr_accessor :frame_bytes

    def initialize(input, output)
      @frames = Frames.new(input)
      @output = output.binmode
      @output.sync = true
      @frame_bytes = Frames::LARGEST
      @mutex = Mutex.new
      @news = ConditionVariable.new
      @begun = ConditionVariable.new
      @last_id = 0
      @waiting = {}
      @queue = []
      @given_up = [] # Calls that wait and were cancelled.
      @kept = String.new(encoding: Encoding::BINARY) # What goes out in one write.
      @reads = 0
      @asleep = 0
      @reading = false
      @current = nil
      @scalars = 0 # Answers to now and random that are waited for.
      empty_feed
    end

    # Sends a question of a call: the number and the frame are one step. Gives the number, and what to `wait` for. `kind`
    # is :scalar (now, random), or :respond.
    def ask(call, method, members, kind)
      @mutex.synchronize do
        report(call)
        @scalars += 1 if kind == :scalar
        id, waiter = begin_request(call, kind)
        ask = call.asks
        call.asks += 1
        @kept << "{\"jsonrpc\":\"2.0\",\"id\":#{id},\"method\":\"#{method}\",\"params\":{\"call\":#{call.number}," \
                 "\"ask\":#{ask}#{members}}}\n"
        flush
        [ask, waiter]
      end
    end

    # The result of a question; raises what its error stands for.
    def wait(waiter)
      message = @mutex.synchronize do
        step until waiter.message
        raise_failure(waiter.call)
        waiter.message
      end
      raise Errors.of_reply(message["error"]) if message.key?("error")

      message["result"]
    end

    # The first value that was sent ahead for now or random, nil where there is none. `item` is what to report.
    def take(call, lane, item)
      @mutex.synchronize do
        values = @feed[lane]
        return nil if values.empty? || @scalars.positive? || call.over || call.cancelled

        note(call, item)
        values.shift
      end
    end

    # The answer to a respond that was sent ahead, or {"produce" => true} where the window says so; nil: ask.
    def take_answer(call, key, item)
      @mutex.synchronize do
        return nil if call.over || call.cancelled

        values = @answers[key]
        given = values.nil? || values.empty? ? nil : values.shift
        given ||= PRODUCE if call.produce
        [note(call, item), given] if given
      end
    end
    PRODUCE = { "produce" => true }.freeze
    private_constant :PRODUCE

    # Runs a producer. A cancel of the call ends it, and then it counts for nothing.
    def produce(call, &block)
      Thread.handle_interrupt(Abandoned => :never) do
        begin_producing(call)
        Thread.handle_interrupt(Abandoned => :immediate, &block)
      ensure
        @mutex.synchronize { call.producing.delete_at(call.producing.rindex(Thread.current) || call.producing.size) }
        # Raised here at the latest, and not in what comes next.
        Thread.handle_interrupt(Abandoned => :immediate) { Thread.pass } if Thread.pending_interrupt?
      end
    rescue Abandoned
      raise Cancelled, CANCELLED
    ensure
      raise Cancelled, CANCELLED if call.cancelled
    end
    CANCELLED = "the call was cancelled"

    # Refuses what no frame can hold.
    def fits(text)
      return text if text.bytesize < @frame_bytes - 256

      raise LimitExceeded, "#{text.bytesize} bytes, and a frame has #{@frame_bytes} at most"
    end

    # Tells what a producer gave. Nobody waits for the reply: where it is an error, the call's next question fails.
    def settle(call, ask, members)
      @mutex.synchronize do
        if call.produce
          call.taken << "{\"m\":\"respond.settle\",\"p\":{\"ask\":#{ask}#{members}}}"
        else
          report(call)
          id, = begin_request(call, :settlement)
          call.unsettled += 1
          @kept << "{\"jsonrpc\":\"2.0\",\"id\":#{id},\"method\":\"respond.settle\",\"params\":" \
                   "{\"call\":#{call.number},\"ask\":#{ask}#{members}}}\n"
          flush
        end
      end
    end

    # A notification of a call.
    def tell(call, method, members)
      @mutex.synchronize do
        report(call)
        @kept << "{\"jsonrpc\":\"2.0\",\"method\":\"#{method}\",\"params\":{\"call\":#{call.number}#{members}}}\n"
        flush
      end
    end

    # The daemon's next request or notification.
    def next_message
      @mutex.synchronize do
        step while @queue.empty?
        @queue.shift
      end
    end

    # From here on until `close` the call is the one that runs. Its window's values are added to what is there.
    def open(call, window)
      @mutex.synchronize do
        @current = call
        call.cancelled = true if @given_up.delete(call.number)
        add(window) if window
        watch
      end
    end

    # Waits until every settlement of the call has been taken.
    def settled(call)
      @mutex.synchronize do
        step while call.unsettled.positive?
        raise_failure(call)
      end
    end

    # Answers the daemon's request, with the call that it opened if it did.
    def answer(id, member, text, call = nil)
      @mutex.synchronize do
        if call
          report(call)
          call.over = true
          @current = nil
        end
        @kept << "{\"jsonrpc\":\"2.0\",\"id\":#{id},\"#{member}\":#{text}}\n"
        flush
      end
    end

    def empty_feed
      @feed = { now: [], random: [] }
      @answers = {}
    end

    private

    # Everything below runs under the mutex.

    def begin_request(call, kind)
      id = @last_id += 1
      [id, @waiting[id] = Waiter.new(call, kind)]
    end

    def note(call, item)
      call.taken << item
      (call.asks += 1) - 1
    end

    def begin_producing(call)
      @mutex.synchronize do
        report(call)
        flush
        raise Cancelled, CANCELLED if call.cancelled

        call.producing << Thread.current
      end
    end

    def report(call)
      return if call.taken.empty?

      @kept << "{\"jsonrpc\":\"2.0\",\"method\":\"asked\",\"params\":{\"call\":#{call.number},\"asks\":[" \
               "#{call.taken.join(",")}]}}\n"
      call.taken.clear
    end

    def flush
      return if @kept.empty?

      @output.write(@kept)
      @kept.clear
    rescue SystemCallError, IOError
      leave
    end

    def raise_failure(call)
      failure = call.failure
      return unless failure

      call.failure = nil
      raise failure
    end

    # Reads and takes in one frame, or waits for the thread that does.
    def step
      return asleep if @reading

      @reading = true
      @reads += 1
      begin
        @mutex.unlock
        begin
          line = @frames.next
        ensure
          @mutex.lock
        end
        line ? take_in(line) : leave
      rescue ProtocolError => e
        give_up(-32_700, "the frame is not one JSON text", e.message)
      ensure
        @reading = false
        @news.broadcast if @asleep.positive?
      end
    end

    def asleep
      @asleep += 1
      @news.wait(@mutex)
    ensure
      @asleep -= 1
    end

    def take_in(line)
      message = Message.read(line)
      return give_up(-32_600, NO_MESSAGE, "a frame is no object") unless message.is_a?(Hash)
      return give_up(-32_600, NO_MESSAGE, "a method is a string, an id that or an integer") unless message?(message)

      message.delete("params") unless message["params"].is_a?(Hash)
      case message["method"]
      when nil then take_reply(message)
      when "cancel" then cancel(message.dig("params", "call"))
      when "withdraw" then withdraw
      else @queue << message
      end
    end
    NO_MESSAGE = "the frame is not a JSON-RPC 2.0 message"
    private_constant :NO_MESSAGE

    def message?(message)
      method = message["method"]
      return true if method.nil?

      id = message.fetch("id", 0)
      method.is_a?(String) && (id.is_a?(Integer) || id.is_a?(String))
    end

    # Nothing can be said about a conversation that is no longer one.
    def give_up(code, message, why)
      @kept << "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":#{code},\"message\":\"#{message}\"}}\n"
      flush
      warn "playhead_client: a frame cannot be read: #{why}"
      exit!(1)
    end

    def take_reply(message)
      waiter = @waiting.delete(message["id"])
      return if waiter.nil?

      case waiter.kind
      when :scalar then @scalars -= 1
      when :settlement
        waiter.call.unsettled -= 1
        waiter.call.failure ||= Errors.of_reply(message["error"]) if message.key?("error")
      end
      waiter.message = message
    end

    def cancel(number)
      @given_up << number if @queue.any? { |waits| waits["method"] == "handle" && waits.dig("params", "call") == number }
      return unless @current && @current.number == number

      @current.cancelled = true
      @current.producing.each { |thread| thread.raise(Abandoned) unless thread == Thread.current }
    end

    def withdraw
      empty_feed
      @queue.each do |message|
        window = message.dig("params", "window")
        %w[now random respond].each { |lane| window.delete(lane) } if window
      end
    end

    def add(window)
      @feed[:now].concat(window["now"]) if window["now"]
      @feed[:random].concat(window["random"]) if window["random"]
      window["respond"]&.each { |key, answers| (@answers[key] ||= []).concat(answers) }
    end

    # At the end of input: nothing is waited for, and nothing of the handler's runs.
    def leave
      exit!(0)
    end

    def watch
      @watcher ||= Thread.new { look_in }.tap { |thread| thread.report_on_exception = true }
      @begun.signal if @parked
    end

    def look_in
      loop do
        seen = @mutex.synchronize do
          @parked = true
          @begun.wait(@mutex) until @current
          @parked = false
          @reads
        end
        sleep GLANCE
        @mutex.synchronize { step if @current && @reads == seen && !@reading }
      end
    end
  end
end
