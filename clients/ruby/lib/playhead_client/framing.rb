# frozen_string_literal: true

# Bytes into lines. Only the byte 0x0A ends a frame.
module PlayheadClient
  class Frames
    LARGEST = 64 << 20

    READ = 64 << 10
    private_constant :READ

    def initialize(input)
      @input = input.binmode
      @buffer = String.new(encoding: Encoding::BINARY)
      @chunk = String.new(encoding: Encoding::BINARY)
      @begun = 0  # Where the next frame begins,
      @looked = 0 # and up to where there is no end of it.
    end

    # The next frame without its line end, nil at the end of input. What the end cuts off is no frame.
    #
    # Whatever is raised into a thread that reads (Timeout does so), nothing that has come is lost.
    def next
      until (found = @buffer.index("\n", @looked))
        @looked = @buffer.bytesize
        raise ProtocolError, "a frame is larger than #{LARGEST} bytes" if @looked - @begun > LARGEST

        more || (return nil)
      end
      line = @buffer.byteslice(@begun, found - @begun)
      @begun = @looked = found + 1
      line
    end

    private

    def more
      @input.readpartial(READ, @chunk)
      if @begun.positive?
        @buffer = @buffer.byteslice(@begun, @buffer.bytesize)
        @looked -= @begun
        @begun = 0
      end
      @buffer << @chunk
    rescue EOFError, SystemCallError
      nil
    end
  end
end
