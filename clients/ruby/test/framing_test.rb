# frozen_string_literal: true

require_relative "helper"

class FramingTest < Minitest::Test
  def frames
    read, write = IO.pipe
    yield PlayheadClient::Frames.new(read), write
  ensure
    [read, write].each(&:close)
  end

  def test_only_a_line_feed_ends_a_frame_however_it_is_cut
    frames do |lines, write|
      text = "a\u2028\u0085b\r"
      write << "one\n#{text}\n\n" << "la"
      assert_equal(["one", text.b, ""], Array.new(3) { lines.next })
      write << "st\nmore\n"
      assert_equal(%w[last more], Array.new(2) { lines.next })
    end
  end

  def test_what_the_end_cuts_off_is_no_frame
    frames do |lines, write|
      write << "one\ntw"
      write.close
      assert_equal ["one", nil, nil], Array.new(3) { lines.next }
    end
  end

  def test_a_frame_of_mebibytes_comes_whole
    frames do |lines, write|
      large = "x" * (3 << 20)
      sender = Thread.new { write << large << "\n" << "after\n" }
      assert_equal [large, "after"], [lines.next, lines.next]
      sender.join
    end
  end

  def test_a_reader_that_is_interrupted_loses_nothing
    frames do |lines, write|
      write << "begun, "
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { lines.next } }
      write << "and done\n"
      assert_equal "begun, and done", lines.next
    end
  end
end
