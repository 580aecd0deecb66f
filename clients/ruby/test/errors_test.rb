# frozen_string_literal: true

require_relative "helper"

class Declined < StandardError; end

class Wordy < StandardError
  def message
    "always the same"
  end
end

module Inner
  class Late < StandardError; end
end

class ErrorsTest < Minitest::Test
  Errors = PlayheadClient::Errors

  def revived(type, message = "no", **revivers)
    Errors.revive({ "type" => type, "message" => message, "data" => 7 }, revivers.transform_keys(&:to_s))
  end

  def test_a_reviver_comes_first_then_a_class_of_that_name_then_a_recorded_error
    assert_instance_of Inner::Late, revived("Late", Late: Inner::Late)
    assert_equal "late: no", revived("Late", Late: ->(error) { RuntimeError.new("late: #{error["message"]}") }).message
    assert_instance_of Declined, revived("Declined")
    assert_instance_of KeyError, revived("KeyError")
    assert_instance_of PlayheadClient::CallEnded, revived("CallEnded")
    ["Late", "String", "Exception", "Interrupt", "TimeoutError", "no name", ""].each do |type|
      error = revived(type)
      assert_instance_of PlayheadClient::RecordedError, error
      assert_equal [type, "no", 7], [error.type, error.message, error.data]
    end
  end

  def test_a_class_that_would_say_something_else_does_not_stand_for_it
    assert_instance_of PlayheadClient::RecordedError, revived("Wordy")
  end

  def test_an_error_is_described_by_its_bare_name
    assert_equal %w[Late now], Errors.describe(Inner::Late.new("now")).values_at("type", "message")
    assert_equal "StandardError", Errors.describe(Class.new(StandardError).new("x"))["type"]
    own = PlayheadClient::HandlerError.new("Declined", "no funds", args: [1], data: { "a" => 2 })
    assert_equal({ "type" => "Declined", "message" => "no funds", "args" => [1], "data" => { "a" => 2 } },
                 Errors.describe(own))
  end

  def test_replies_have_classes_of_their_own
    codes = { -32_003 => "CallEnded", -32_010 => "DeterminismError", -32_012 => "Forbidden", -32_013 => "LimitExceeded",
              -32_800 => "Cancelled", -32_602 => "ProtocolError" }
    codes.each do |code, name|
      assert_equal "PlayheadClient::#{name}", Errors.of_reply({ "code" => code, "message" => "m" }).class.name
    end
    found = Errors.of_reply({ "code" => -32_010, "message" => "m", "data" => { "kind" => "order", "message" => "why" } })
    assert_equal %w[order why], [found.kind, found.message]
  end
end
