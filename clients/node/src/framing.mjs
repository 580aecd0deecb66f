// Bytes in, frames out: UTF-8 texts that end with LF, whatever the pipe cut them into. No I/O.
//
// Frames that come together and are ASCII become one text, and a frame is a piece of it: that costs half of what
// reading each by itself does.
import buffer from 'node:buffer';
import { ProtocolError } from './errors.mjs';

export const MAX_FRAME_BYTES = 64 * 1024 * 1024;

// isAscii() came with Node 18.15. Without it frames are read one by one.
const { isUtf8, isAscii = () => false } = buffer;

const LF = 0x0a;
const SMALL = 64 * 1024;
const LARGEST_BLOCK = 16 * SMALL;
const REPLACEMENT = '\ufffd';

export class FrameBuffer {
  /** Readers write at `bytes[end]`, up to `free()` bytes, then say `filled(n)`. */
  bytes = Buffer.allocUnsafe(SMALL);
  end = 0;
  #start = 0;
  #scanned = 0;
  #limit;
  #block = ''; // frames that have been read together
  #cut = 0; // where the next of them begins
  #mixed = 0; // up to here the bytes are known not to be ASCII

  constructor(limit = MAX_FRAME_BYTES) {
    this.#limit = limit;
  }

  /** Makes room for at least `wanted` bytes and says how many there is room for. */
  free(wanted = 1) {
    if (this.#start === this.end) {
      this.#start = this.end = this.#scanned = this.#mixed = 0;
      if (this.bytes.length > 16 * SMALL) this.bytes = Buffer.allocUnsafe(SMALL);
    }
    if (this.bytes.length - this.end < wanted) this.#makeRoom(wanted);
    return this.bytes.length - this.end;
  }

  filled(count) {
    this.end += count;
  }

  push(chunk) {
    this.free(chunk.length);
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
  }

  /** The next whole frame as text, or null. Throws ProtocolError for one that is too large or not UTF-8. */
  next() {
    if (this.#block !== '') return this.#piece();
    if (this.#scanned === this.end) return null;
    const at = this.#findLF();
    const length = (at === -1 ? this.end : at) - this.#start;
    if (length > this.#limit) {
      throw new ProtocolError(
        `a frame of ${at === -1 ? 'more than ' : ''}${length} bytes; the limit is ${this.#limit}`,
      );
    }
    if (at === -1) {
      this.#scanned = this.end;
      return null;
    }
    if (at + 1 !== this.end && at >= this.#mixed && this.#readBlock(at)) return this.#piece();
    const text = this.bytes.toString('utf8', this.#start, at);
    // toString() replaces bad bytes; only a text with a replacement character can have had some.
    if (text.includes(REPLACEMENT)) this.#checkUtf8(this.#start, at, text);
    this.#start = this.#scanned = at + 1;
    return text;
  }

  #piece() {
    const at = this.#block.indexOf('\n', this.#cut);
    const text = this.#block.slice(this.#cut, at);
    this.#cut = at + 1;
    if (this.#cut === this.#block.length) {
      this.#block = '';
      this.#cut = 0;
    }
    return text;
  }

  // All whole frames there are, of which the first ends at `first`. False if they have to be read one by one.
  #readBlock(first) {
    const after = this.bytes.lastIndexOf(LF, this.end - 1) + 1;
    if (after === first + 1 || after - this.#start > Math.min(this.#limit, LARGEST_BLOCK)) return false;
    if (!isAscii(this.bytes.subarray(this.#start, after))) {
      this.#mixed = after;
      return false;
    }
    this.#block = this.bytes.latin1Slice(this.#start, after);
    this.#start = this.#scanned = after;
    return true;
  }

  // indexOf() runs to the end of the memory, past the bytes that are ours: cheap in a small buffer, quadratic in a
  // large one.
  #findLF() {
    if (this.bytes.length === SMALL) {
      const at = this.bytes.indexOf(LF, this.#scanned);
      return at < this.end ? at : -1;
    }
    const at = this.bytes.subarray(this.#scanned, this.end).indexOf(LF);
    return at === -1 ? -1 : at + this.#scanned;
  }

  #checkUtf8(start, at, text) {
    const frame = this.bytes.subarray(start, at);
    if (isUtf8(frame)) return;
    const replaced = Buffer.from(text);
    let offset = 0;
    while (frame[offset] === replaced[offset]) offset++;
    throw new ProtocolError(`invalid UTF-8 at byte ${offset} of a frame`);
  }

  #makeRoom(wanted) {
    const held = this.end - this.#start;
    const from = this.bytes;
    let size = from.length;
    while (size - held < Math.max(wanted, size >> 2)) size *= 2;
    if (size !== from.length) this.bytes = Buffer.allocUnsafeSlow(size);
    from.copy(this.bytes, 0, this.#start, this.end);
    this.#scanned -= this.#start;
    this.#mixed = 0;
    this.#start = 0;
    this.end = held;
  }
}
