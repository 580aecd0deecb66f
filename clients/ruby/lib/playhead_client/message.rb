# frozen_string_literal: true

require "json"
require "strscan"

# Values into JSON text and back. What JSON cannot carry is refused with the JSON Pointer of the part.
#
# The json library reads and writes nearly everything. It cannot carry half a character (a lone surrogate), which
# JSON allows: such a text is read and written by hand, and is a String of the three bytes that UTF-8 would have for it.
module PlayheadClient
  module Message
    DEPTH = 1000
    # A frame has two levels of its own around a value.
    NESTING = DEPTH + 10
    READ = { max_nesting: NESTING }.freeze
    WRITE = { max_nesting: NESTING }.freeze

    HALF = /\xED[\xA0-\xBF][\x80-\xBF]/n.freeze
    TOO_LARGE = 2**1024 - 2**970 # From here on an integer is no float64.
    TOO_DEEP = "deeper than #{DEPTH} levels"

    module_function

    # The value of one JSON text in UTF-8.
    def read(text)
      text.force_encoding(Encoding::UTF_8) unless text.encoding == Encoding::UTF_8
      raise ProtocolError, "not JSON: not UTF-8" unless text.valid_encoding?
      return Reader.new(text).read if text.include?("\\ud") || text.include?("\\uD")

      JSON.parse(text, READ)
    rescue JSON::ParserError => e
      raise ProtocolError, "not JSON: #{clean(e.message)[0, 200]}"
    end

    # Compact JSON of a value; raises NotJSON.
    def write(value, what = "the value")
      reason, path = fault(value, 0)
      refuse(value, what, reason, path) if reason
      begin
        JSON.generate(value, WRITE)
      rescue JSON::GeneratorError
        Writer.write(value)
      end
    end

    # What the value is after a trip through JSON.
    def through_json(value, what = "the value")
      text = write(value, what)
      [read(+text), text]
    end

    # A text that is certainly UTF-8, for what people read.
    def clean(text)
      text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace) unless text.encoding == Encoding::UTF_8
      text.valid_encoding? || halves?(text) ? text : text.scrub
    end

    # nil where the value is JSON; else the reason, and the way to the part, innermost first.
    def fault(value, depth)
      case value
      when nil, true, false, Symbol then nil
      when String then string_fault(value)
      when Integer
        value.abs < TOO_LARGE ? nil : ["an integer beyond the largest float64", []]
      when Float
        value.finite? ? nil : ["#{value} is not finite", []]
      when Array
        return [TOO_DEEP, []] if depth >= DEPTH

        value.each_with_index { |item, index| (found = fault(item, depth + 1)) && (return inside(found, index)) }
        nil
      when Hash
        return [TOO_DEEP, []] if depth >= DEPTH

        value.each do |key, item|
          found = key_fault(value, key)
          return [found, []] if found

          found = fault(item, depth + 1)
          return inside(found, key) if found
        end
        nil
      else
        ["an object of #{value.class} has no JSON text", []]
      end
    end

    def key_fault(hash, key)
      case key
      when String then string_fault(key)&.first
      when Symbol then hash.key?(key.name) ? "the key #{key} is there as a text and as a symbol" : nil
      else "a key is #{key.inspect[0, 60]}, which is no text"
      end
    end

    def string_fault(text)
      return nil if text.ascii_only?
      if text.encoding == Encoding::UTF_8
        return text.valid_encoding? || halves?(text) ? nil : ["a text that is not valid UTF-8", []]
      end
      return ["bytes have no JSON text: give hex or base64", []] if text.encoding == Encoding::BINARY

      text.encode(Encoding::UTF_8)
      nil
    rescue EncodingError
      ["a text that is not valid #{text.encoding}", []]
    end

    # Whether nothing is wrong with the text but halves of characters.
    def halves?(text)
      text.b.gsub(HALF, "?").force_encoding(Encoding::UTF_8).valid_encoding?
    end

    def inside(found, token)
      found[1] << token
      found
    end

    def refuse(value, what, reason, path)
      if reason == TOO_DEEP && (cycle = cycle(value, [], {}.compare_by_identity))
        reason = "a cycle has no JSON text"
        path = cycle.reverse
      end
      pointer = path.reverse.map { |token| "/#{token.to_s.gsub("~", "~0").gsub("/", "~1")}" }.join
      where = pointer.empty? ? "" : " at #{clean(pointer)}"
      raise NotJSON.new("#{what} cannot be carried by JSON#{where}: #{reason}", pointer)
    end

    def cycle(value, path, above)
      return nil unless value.is_a?(Hash) || value.is_a?(Array)
      return path if above[value]
      return nil if path.size > DEPTH

      above[value] = true
      pairs = value.is_a?(Hash) ? value : value.each_with_index.map { |item, index| [index, item] }
      pairs.each { |token, item| (found = cycle(item, path + [token], above)) && (return found) }
      above.delete(value)
      nil
    end

    # The slow way out, for texts with halves of characters.
    module Writer
      module_function

      def write(value)
        case value
        when Hash then "{#{value.map { |key, item| "#{string(key.to_s)}:#{write(item)}" }.join(",")}}"
        when Array then "[#{value.map { |item| write(item) }.join(",")}]"
        when String, Symbol then string(value.to_s)
        else JSON.generate(value)
        end
      end

      def string(text)
        text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::UTF_8
        return JSON.generate(text) if text.valid_encoding?

        pieces = text.b.split(/(#{HALF.source})/n).map do |piece|
          next escape(piece) if piece.match?(HALF)

          JSON.generate(piece.force_encoding(Encoding::UTF_8))[1..-2]
        end
        "\"#{pieces.join}\""
      end

      def escape(half)
        _, high, low = half.bytes
        format("\\u%04x", 0xD000 | ((high & 0x3F) << 6) | (low & 0x3F))
      end
    end

    # The slow way in, for texts with escapes of halves.
    class Reader
      SIMPLE = { "b" => "\b", "f" => "\f", "n" => "\n", "r" => "\r", "t" => "\t" }.freeze
      private_constant :SIMPLE

      def initialize(text)
        @in = StringScanner.new(text)
      end

      def read
        found = value(0)
        @in.skip(/[ \t\r\n]+/)
        @in.eos? ? found : fail!
      end

      private

      def value(depth)
        fail! if depth > NESTING
        @in.skip(/[ \t\r\n]+/)
        if @in.skip(/\{/) then object(depth + 1)
        elsif @in.skip(/\[/) then array(depth + 1)
        elsif @in.skip(/"/) then string
        elsif (text = @in.scan(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/))
          text.match?(/[.eE]/) ? Float(text) : Integer(text, 10)
        elsif @in.skip(/true\b/) then true
        elsif @in.skip(/false\b/) then false
        elsif @in.skip(/null\b/) then nil
        else fail!
        end
      end

      def array(depth)
        found = []
        return found if @in.skip(/[ \t\r\n]*\]/)

        loop do
          found << value(depth)
          return found if @in.skip(/[ \t\r\n]*\]/)

          @in.skip(/[ \t\r\n]*,/) || fail!
        end
      end

      def object(depth)
        found = {}
        return found if @in.skip(/[ \t\r\n]*\}/)

        loop do
          @in.skip(/[ \t\r\n]*"/) || fail!
          key = string
          @in.skip(/[ \t\r\n]*:/) || fail!
          found[key] = value(depth)
          return found if @in.skip(/[ \t\r\n]*\}/)

          @in.skip(/[ \t\r\n]*,/) || fail!
        end
      end

      def string
        found = String.new(encoding: Encoding::BINARY)
        until @in.skip(/"/)
          if (plain = @in.scan(/[^"\\]+/)) then found << plain.b
          elsif @in.skip(/\\u/) then found << character
          elsif @in.skip(/\\/) then found << escaped(@in.getch)
          else fail!
          end
        end
        found.force_encoding(Encoding::UTF_8)
      end

      def escaped(letter)
        SIMPLE[letter] || (letter&.match?(%r{["\\/]}) ? letter : fail!)
      end

      def character
        code = hex
        if (0xD800..0xDBFF).cover?(code) && @in.check(/\\u[dD][c-fC-F]/)
          @in.pos += 2
          code = 0x10000 + ((code - 0xD800) << 10) + (hex - 0xDC00)
        end
        return [code].pack("U").b unless (0xD800..0xDFFF).cover?(code)

        [0xED, 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F)].pack("C3")
      end

      def hex
        (@in.scan(/\h{4}/) || fail!).hex
      end

      def fail!
        raise ProtocolError, "not JSON at byte #{@in.pos}"
      end
    end

    private_class_method :key_fault, :string_fault, :halves?, :inside, :refuse, :cycle
    private_constant :Writer, :Reader
  end
end
