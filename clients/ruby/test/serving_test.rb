# frozen_string_literal: true

require_relative "helper"

# Real processes over real pipes. What every client has to do is in the conversations of protocol/vectors.
class ServingTest < Minitest::Test
  ASKS = '"call":0,"asks":'

  def hosting(source, **more, &block)
    Daemon.hosting(source, **more, &block)
  end

  def test_what_the_window_gave_is_reported_to_the_byte_before_the_answer
    source = <<~RUBY
      def handler(event, ctx)
        [ctx.now, ctx.random, ctx.respond("account", args: [event], kwargs: { deep: true }) { raise }]
      end
    RUBY
    hosting(source, capabilities: { window: true }) do |daemon|
      daemon.handle("A1", window: { now: [5], random: [0.5], respond: { account: [{ value: {} }] } })
      assert_equal '{"jsonrpc":"2.0","method":"asked","params":{"call":0,"asks":[{"m":"now"},{"m":"random"},' \
                   '{"m":"respond","p":{"key":"account","args":["A1"],"kwargs":{"deep":true}}}]}}', daemon.line
      assert_equal '{"jsonrpc":"2.0","id":2,"result":{"output":[5,0.5,{}]}}', daemon.line
    end
  end

  def test_a_producers_error_comes_back_as_the_class_of_its_name_with_the_original_as_its_cause
    source = <<~RUBY
      class Declined < StandardError; end
      def handler(event, ctx)
        ctx.respond("a") { raise Declined, "no funds" }
      rescue Declined => e
        [e.message, e.cause.class.name, e.cause.equal?(e)]
      end
    RUBY
    hosting(source) do |daemon|
      daemon.handle
      daemon.reply({ produce: true })
      settled = daemon.reply({})
      assert_equal ["Declined", "no funds"], settled["params"]["error"].values_at("type", "message")
      assert_equal ["no funds", "Declined", false], daemon.answer["output"]
    end
  end

  def test_an_error_of_the_tape_comes_by_the_files_reviver
    source = <<~RUBY
      module Bank
        class Declined < StandardError; end
      end
      REVIVERS = { "Declined" => Bank::Declined }
      def handler(event, ctx)
        ctx.respond("a") { nil }
      rescue Bank::Declined => e
        e.message
      end
    RUBY
    hosting(source) do |daemon|
      daemon.handle
      daemon.reply({ error: { type: "Declined", message: "no funds" } })
      assert_equal "no funds", daemon.answer["output"]
    end
  end

  def test_a_settlement_that_is_refused_fails_the_next_question_or_the_return
    source = <<~RUBY
      def handler(event, ctx)
        a = ctx.respond("a") { 1 }
        event ? [a, (ctx.now rescue $!.class.name)] : a
      end
    RUBY
    hosting(source) do |daemon|
      [true, false].each do |asks|
        daemon.handle(asks, call: asks ? 0 : 1)
        daemon.reply({ produce: true })
        daemon.reply(error: { code: -32_012, message: "forbidden" })
        daemon.reply(5) if asks
        found = daemon.answer
        assert_equal([1, "PlayheadClient::Forbidden"], found["output"]) if asks
        assert_equal("Forbidden", found["raised"]["type"]) unless asks
      end
    end
  end

  def test_a_value_has_been_through_json_on_record_too
    hosting("def handler(e, ctx) = ctx.respond('a') { { b: :c } }.to_a.flatten.map { |x| x.class.name }") do |daemon|
      daemon.handle
      daemon.reply({ produce: true })
      daemon.reply({})
      assert_equal %w[String String], daemon.answer["output"]
    end
  end

  def test_what_a_producer_gives_that_json_cannot_carry_is_settled_as_an_error
    hosting("def handler(e, ctx) = ctx.respond('a') { [Object.new] }") do |daemon|
      daemon.handle
      daemon.reply({ produce: true })
      assert_equal "NotJSON", daemon.reply({})["params"]["error"]["type"]
      assert_includes daemon.answer["raised"]["message"], "/0"
    end
  end

  def test_threads_get_the_answers_to_their_own_questions
    source = <<~RUBY
      def handler(event, ctx)
        %w[a b].map { |key| Thread.new { ctx.lane(key).respond(key) { nil } } }.map(&:value)
      end
    RUBY
    hosting(source) do |daemon|
      daemon.handle
      asked = [daemon.message, daemon.message]
      assert_equal [0, 1], asked.map { |each| each["params"]["ask"] }
      assert_equal %w[a b], asked.map { |each| each["params"]["lane"] }.sort
      asked.reverse_each { |each| daemon.say(id: each["id"], result: { value: each["params"]["key"] }) }
      assert_equal %w[a b], daemon.answer["output"]
    end
  end

  def test_a_cancel_ends_a_producer_that_sleeps_and_the_next_call_is_as_ever
    source = <<~RUBY
      def handler(event, ctx)
        event ? ctx.respond("a") { begin; sleep; ensure; warn "cleaned up"; end } : ctx.respond("a") { 1 }
      end
    RUBY
    hosting(source) do |daemon|
      daemon.handle(true)
      daemon.reply({ produce: true })
      daemon.say(method: "cancel", params: { call: 0 })
      assert_equal "Cancelled", daemon.answer["raised"]["type"]
      daemon.handle(call: 1)
      daemon.reply({ produce: true })
      daemon.reply({})
      assert_equal 1, daemon.answer["output"]
      assert_equal ["", 0, "cleaned up\n"], daemon.finish
    end
  end

  def test_the_end_of_input_ends_a_handler_that_sleeps
    hosting("def handler(event, ctx)\n ctx.now\n at_exit { warn 'late' }\n sleep\nend") do |daemon|
      daemon.handle
      daemon.reply(5)
      assert_equal ["", 0, ""], daemon.finish
    end
  end

  def test_nothing_that_is_printed_reaches_stdout_and_nothing_is_there_to_read
    source = <<~RUBY
      puts "loading"
      def handler(event, ctx)
        print "a"
        STDOUT.write("b")
        $stdout << "c"
        system("echo d; cat")
        fork { puts "e" }.then { |child| Process.wait(child) }
        gets.inspect
      end
    RUBY
    hosting(source) do |daemon|
      daemon.handle
      assert_equal "nil", daemon.answer["output"]
      assert_equal ["", 0, "loading\nabcd\ne\n"], daemon.finish
    end
  end

  def test_a_file_may_have_several_functions_constants_and_a_reset
    source = <<~RUBY
      CONSTANTS = { rate: 2 }
      FUNCTIONS = { double: ->(event, ctx) { event * 2 } }
      $count = 0
      def handler(event, ctx) = $count += 1
      def reset(constants) = $count = constants["from"]
    RUBY
    Tempfile.create(["handler", ".rb"]) do |file|
      file.write(source)
      file.flush
      daemon = Daemon.new(RbConfig.ruby, Daemon::HOST, file.path)
      told = daemon.initialized({ reset: true })
      assert_equal [%w[handler double], { "reset" => true }, { "rate" => 2 }],
                   told.values_at("functions", "capabilities", "constants")
      daemon.handle
      assert_equal 1, daemon.answer["output"]
      daemon.request("reset", { constants: { from: 10 } })
      assert_equal({}, daemon.answer)
      daemon.handle(call: 1)
      assert_equal 11, daemon.answer["output"]
      daemon.kill
    end
  end

  UNSERVED = {
    "def handler(" => "SyntaxError",
    "raise 'not today'" => "not today",
    "require 'no_such_library'" => "no_such_library",
    "FUNCTIONS = { a: 1 }" => "the function a cannot be called",
    "1" => "has no handler"
  }.freeze

  def test_a_file_that_cannot_be_served_is_told_in_a_few_words
    UNSERVED.each do |source, words|
      Tempfile.create(["handler", ".rb"]) do |file|
        file.write(source)
        file.flush
        out, err, status = Open3.capture3(RbConfig.ruby, Daemon::HOST, file.path)
        assert_equal ["", 1], [out, status.exitstatus]
        assert_includes err, words
        refute_includes err, "host.rb"
      end
    end
  end

  def test_what_the_tape_does_not_know_is_an_error_of_its_own
    hosting("def handler(event, ctx)\n  ctx.now\nrescue PlayheadClient::DeterminismError => e\n  e.kind\nend") do |daemon|
      daemon.handle
      daemon.reply(error: { code: -32_010, message: "no", data: { kind: "exhausted", message: "why" } })
      assert_equal "exhausted", daemon.answer["output"]
    end
  end

  UNREADABLE = {
    "what?" => -32_700,
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}" => -32_700,
    "[1]" => -32_600,
    '{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}' => -32_600
  }.freeze

  def test_a_frame_that_cannot_be_read_is_told_on_both_sides_and_ends_the_process
    UNREADABLE.each do |line, code|
      hosting("def handler(event, ctx) = ctx.now") do |daemon|
        daemon.handle
        daemon.line
        daemon.raw(line)
        told = daemon.message
        assert_equal [true, nil, code], [told.key?("id"), told["id"], told["error"]["code"]]
        said, status, printed = daemon.finish
        assert_equal ["", 1], [said, status]
        assert_includes printed, "a frame cannot be read"
      end
    end
  end

  def test_a_reading_with_a_fraction_stays_as_it_is
    hosting("def handler(event, ctx) = ctx.now") do |daemon|
      daemon.handle
      daemon.reply(1_783_036_800_000.5)
      assert_equal '{"jsonrpc":"2.0","id":2,"result":{"output":1783036800000.5}}', daemon.line
    end
  end

  def test_a_handle_that_lacks_something_is_refused
    hosting("def handler(event, ctx) = 1") do |daemon|
      [{}, [1], { fn: "handler" }, { call: 0, seq: 0, event: 1 }, { fn: "handler", call: 0, event: 1 }].each do |params|
        daemon.request("handle", params)
        assert_equal(-32_602, daemon.message["error"]["code"])
      end
    end
  end

  def test_why_a_reset_failed_is_told_on_stderr_alone
    source = "def handler(event, ctx) = 1\ndef reset(constants) = raise(IOError, 'still busy')"
    hosting(source, capabilities: { reset: true }) do |daemon|
      daemon.request("reset", { constants: {} })
      error = daemon.message["error"]
      assert_equal [-32_603, "reset failed"], error.values_at("code", "message")
      assert_includes daemon.finish.last, "still busy (IOError)"
    end
  end

  def test_an_output_larger_than_a_frame_is_an_error
    hosting("def handler(event, ctx) = 'x' * (64 << 20)") do |daemon|
      daemon.handle
      assert_equal "LimitExceeded", daemon.answer["raised"]["type"]
    end
  end
end
