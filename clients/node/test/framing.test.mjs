import assert from 'node:assert/strict';
import test from 'node:test';
import { FrameBuffer } from '../src/framing.mjs';

// Every way of cutting `bytes` into pieces of `size` gives the same frames.
function check(bytes, frames, { limit, sizes = [1, 2, 3, 7, bytes.length] } = {}) {
  for (const size of sizes) {
    const buffer = new FrameBuffer(limit);
    const seen = [];
    for (let at = 0; at < bytes.length; at += size) {
      buffer.push(bytes.subarray(at, at + size));
      for (let text = buffer.next(); text !== null; text = buffer.next()) seen.push(text);
    }
    assert.deepEqual(seen, frames);
  }
}

test('only LF ends a frame', () => {
  const texts = ['{"a":"\u2028\u2029\u0085\r"}', '', '"\ufffd"', '"é😀"', 'x'.repeat(300)];
  check(Buffer.from(texts.join('\n') + '\n'), texts);
});

test('frames that come together, and a part of the next', () => {
  const texts = Array.from({ length: 300 }, (_, n) => (n % 7 === 0 ? '' : 'x'.repeat(n)));
  check(Buffer.from(texts.join('\n') + '\nrest'), texts, { sizes: [1, 1000, 1001, 65536] });
});

test('frames of which some are not ASCII come together', () => {
  const texts = Array.from({ length: 300 }, (_, n) => (n % 50 === 49 ? '"é😀"' : `"${n}"`));
  check(Buffer.from(texts.join('\n') + '\n'), texts, { sizes: [1, 40, 200, 65536] });
});

test('the limit holds for each of the frames that come together', () => {
  check(Buffer.from('12345678\n1\n12345678\n'), ['12345678', '1', '12345678'], { limit: 8 });
  assert.throws(() => check(Buffer.from('1\n123456789\n1\n'), ['1'], { limit: 8 }), /9 bytes; the limit is 8/);
});

test('a frame without its LF is no frame', () => check(Buffer.from('abc\nde'), ['abc']));

test('frames larger than the buffer', () => {
  const texts = ['a'.repeat(200_000), 'b', 'c'.repeat(3_000_000), 'd'];
  check(Buffer.from(texts.join('\n') + '\n'), texts, { sizes: [65536, 100_003] });
});

test('a frame of exactly the limit is taken, one byte more is not', () => {
  check(Buffer.from('12345678\n'), ['12345678'], { limit: 8 });
  assert.throws(() => check(Buffer.from('123456789\n'), [], { limit: 8 }), /9 bytes; the limit is 8/);
});

test('a frame that never ends is refused at the limit', () => {
  assert.throws(() => check(Buffer.from('1234567890'), [], { limit: 8, sizes: [1] }), /the limit is 8/);
});

test('invalid UTF-8 is refused with its offset, never replaced', () => {
  assert.throws(() => check(Buffer.from([0x22, 0x61, 0xed, 0xa0, 0x80, 0x22, 0x0a]), []), /invalid UTF-8 at byte 2/);
});

test('stale bytes of an earlier frame are not read again', () => {
  const buffer = new FrameBuffer();
  buffer.push(Buffer.from('first\nsecond\n'));
  assert.deepEqual([buffer.next(), buffer.next(), buffer.next()], ['first', 'second', null]);
  buffer.push(Buffer.from('x'));
  assert.equal(buffer.next(), null);
});
