package playhead.client;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * Bytes into lines. Only 0x0A ends a frame, a CR just before it is ignored, and a frame that the end of input cuts off
 * is none.
 */
final class Framing {
    static final int MAX_FRAME_BYTES = 64 << 20;

    private final InputStream in;
    private byte[] buffer = new byte[1 << 16];
    private int start;
    private int end;

    Framing(InputStream in) {
        this.in = in;
    }

    /** The next frame without its line end; null at the end of input. */
    byte[] next() throws IOException {
        int searched = start;
        while (true) {
            for (; searched < end; searched++) {
                if (buffer[searched] == '\n') {
                    int last = searched > start && buffer[searched - 1] == '\r' ? searched - 1 : searched;
                    byte[] frame = Arrays.copyOfRange(buffer, start, last);
                    start = searched + 1;
                    return frame;
                }
            }
            // Two more: a frame may have the CR and the LF behind it.
            if (end - start > MAX_FRAME_BYTES + 2) {
                throw new LimitExceeded("a frame of more than " + MAX_FRAME_BYTES + " bytes");
            }
            searched -= start;
            if (!fill()) return null;
            searched += start;
        }
    }

    private boolean fill() throws IOException {
        if (start == end && buffer.length > 1 << 20) buffer = new byte[1 << 16];
        if (end == buffer.length) {
            int held = end - start;
            byte[] larger = held > buffer.length / 2 ? new byte[buffer.length * 2] : buffer;
            System.arraycopy(buffer, start, larger, 0, held);
            buffer = larger;
            start = 0;
            end = held;
        } else if (start == end) {
            start = end = 0;
        }
        int read = in.read(buffer, end, buffer.length - end);
        if (read < 0) return false;
        end += read;
        return true;
    }
}
