# frozen_string_literal: true

require_relative "helper"

class MessageTest < Minitest::Test
  Message = PlayheadClient::Message

  HALF = "\xED\xA0\xBD" # U+D83D, as UTF-8 would have it

  def nested(levels)
    (levels - 1).times.reduce([]) { |inner, _| [inner] }
  end

  SAME = [
    "{}", "[]", "{\"a\":{},\"b\":[]}", "null", "\"\"", "9007199254740993", "-9223372036854775809",
    "1234567890123456789012345678901", "4.0", "0.1", "5.0e-324", "1.7976931348623157e+308", "\"</é\u2028😀\"",
    "\"\\ud83d\"", "\"a\\udc00b\"", "{\"\\ud800\":\"\\udfff\\ud800\"}", "[\"\\u0000\",true,false]"
  ].freeze

  def test_what_is_read_is_written_as_it_was
    SAME.each { |text| assert_equal text, Message.write(Message.read(+text)) }
  end

  def test_two_escapes_are_one_character_also_beside_half_a_one
    assert_equal ["😀", "A\"\\/\b\f\n\r\té#{HALF}"],
                 Message.read(+"[\"\\ud83d\\ude00\",\"\\u0041\\\"\\\\\\/\\b\\f\\n\\r\\té\\uD83D\"]")
    assert_equal [1, -2.5e3, true, false, nil, [], {}, { "a" => "#{HALF}A" }],
                 Message.read(+" [ 1 , -2.5e3,true,false,null,[ ],{ },{ \"a\" : \"\\ud83d\\u0041\" } ] ")
  end

  def test_symbols_are_texts_and_other_encodings_are_converted
    assert_equal "{\"a\":\"b\"}", Message.write({ a: :b })
    assert_equal "\"é\"", Message.write("é".encode("ISO-8859-1"))
    assert_equal "[\"\\ud83d\",\"é\"]", Message.write([HALF, "é".encode("UTF-16LE")])
  end

  REFUSED = {
    "/items/1" => [{ items: [1, Float::NAN] }, "NaN"],
    "/0" => [[-Float::INFINITY], "not finite"],
    "/a~1b/~0" => [{ "a/b" => { "~" => -> {} } }, "an object of Proc"],
    "/k" => [{ k: "\xFF".b }, "bytes"],
    "/t" => [{ t: Time.at(0) }, "an object of Time"],
    "/i" => [{ i: 10**400 }, "beyond the largest float64"],
    "/bad" => [{ bad: "\xFF" }, "not valid UTF-8"],
    "" => [{ 1 => 2 }, "a key is 1"]
  }.freeze

  def test_what_json_cannot_carry_is_refused_with_its_place
    REFUSED.each do |pointer, (value, reason)|
      error = assert_raises(PlayheadClient::NotJSON) { Message.write(value) }
      assert_equal pointer, error.pointer
      assert_includes error.message, reason
      assert_includes error.message, pointer
    end
  end

  def test_the_largest_integer_is_the_last_that_a_float64_can_be
    largest = 2**1024 - 2**970 - 1
    assert_equal [largest.to_s, (-largest).to_s], [Message.write(largest), Message.write(-largest)]
    assert_raises(PlayheadClient::NotJSON) { Message.write(-largest - 1) }
  end

  def test_a_key_that_is_there_twice_is_refused
    assert_raises(PlayheadClient::NotJSON) { Message.write({ "a" => 1, :a => 2 }) }
  end

  def test_a_thousand_levels_are_carried_and_one_more_is_not
    text = Message.write(nested(1000))
    assert_equal text, Message.write(Message.read(+text))
    error = assert_raises(PlayheadClient::NotJSON) { Message.write(nested(1001)) }
    assert_includes error.message, "deeper than 1000 levels"
  end

  def test_a_cycle_is_named_where_it_closes
    cycle = { a: [1] }
    cycle[:a] << cycle
    error = assert_raises(PlayheadClient::NotJSON) { Message.write({ x: cycle }) }
    assert_equal "/x/a/1", error.pointer
    assert_includes error.message, "cycle"
  end

  def test_what_is_no_json_is_refused
    ["{", "[1,]", "\"\\ud83d", "[\"\\ud83d\"] x", "nope"].each do |text|
      assert_raises(PlayheadClient::ProtocolError, text) { Message.read(+text) }
    end
  end
end
