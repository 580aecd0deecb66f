// What is on its way into a pipe, in order, and never waited for. A batch is written straight to the descriptor, which
// does not block; what the pipe has no room for is handed to the stream, which says when it has gone, and until then
// the rest is kept here. At exit, when no event loop will turn again, it is written and waited for, up to a deadline.
import fs from 'node:fs';
import { liveMonotonic } from './live.mjs';

const { readSync, writeSync } = fs;

const CHUNK = 64 * 1024;

export class Outbox {
  /** How many bytes the pipe has not taken. */
  size = 0;
  #stream;
  #broken;
  #small = Buffer.allocUnsafeSlow(CHUNK);
  #handed = null; // the bytes that the stream has
  #kept = []; // those that come after
  #drained;

  /** `drained()` is called when all has gone, `broken(error)` when nobody reads any more. */
  constructor(stream, drained, broken) {
    this.#stream = stream;
    this.#drained = drained;
    this.#broken = broken;
    stream.on('error', broken);
  }

  write(text) {
    const fd = descriptor(this.#stream);
    if (this.#handed !== null || fd < 0) {
      if (!this.#stream.destroyed) this.#keep(Buffer.from(text));
      return;
    }
    // A character is at most three bytes.
    const small = text.length * 3 <= CHUNK;
    const bytes = small ? this.#small : Buffer.from(text);
    const length = small ? bytes.write(text) : bytes.length;
    let done = 0;
    try {
      while (done < length) done += writeSync(fd, bytes, done, length - done, null);
    } catch (error) {
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') return this.#broken(error);
      const rest = bytes.subarray(done, length);
      this.#keep(small ? Buffer.from(rest) : rest);
    }
  }

  #keep(bytes) {
    this.size += bytes.length;
    this.#kept.push(bytes);
    if (this.#handed === null) this.#hand();
  }

  #hand() {
    const bytes = this.#kept.length === 1 ? this.#kept[0] : Buffer.concat(this.#kept);
    this.#kept = [];
    this.#handed = bytes;
    this.#stream.write(bytes, (error) => {
      if (this.#handed !== bytes) return;
      this.#handed = null;
      this.size -= bytes.length;
      if (error) return;
      if (this.#kept.length > 0) this.#hand();
      else this.#drained();
    });
  }

  /** Writes all there is, waiting for the reader until `deadline` (of liveMonotonic). Only for the end of the process. */
  finish(deadline) {
    const fd = descriptor(this.#stream);
    if (fd < 0) return;
    const kept = this.#kept;
    if (this.#handed !== null) {
      const left = this.#stream._handle?.writeQueueSize;
      // How much of it has gone cannot be told: to write it again would spoil a frame.
      if (left === undefined) return;
      kept.unshift(this.#handed.subarray(this.#handed.length - left));
    }
    this.#kept = [];
    for (const bytes of kept) {
      for (let done = 0; done < bytes.length;) {
        try {
          done += writeSync(fd, bytes, done, bytes.length - done, null);
        } catch (error) {
          if ((error.code !== 'EAGAIN' && error.code !== 'EINTR') || liveMonotonic() >= deadline) return;
          pause();
        }
      }
    }
    this.size = 0;
    this.#handed = null;
  }
}

/** Reads what comes until `enough()`, the end or `deadline`, without the event loop. */
export function readUntil(stream, frames, enough, deadline) {
  const fd = descriptor(stream);
  if (fd < 0) return;
  while (!enough()) {
    // First: it may move the bytes.
    const room = frames.free();
    try {
      const count = readSync(fd, frames.bytes, frames.end, room, null);
      if (count === 0) return;
      frames.filled(count);
    } catch (error) {
      if ((error.code !== 'EAGAIN' && error.code !== 'EINTR') || liveMonotonic() >= deadline) return;
      pause();
    }
  }
}

// Asked for each time: the number of a closed descriptor is soon another file's. Below 0 also on Windows, where the
// stream does all of it.
const descriptor = (stream) => stream._handle?.fd ?? -1;

const never = new Int32Array(new SharedArrayBuffer(4));

const pause = () => Atomics.wait(never, 0, 0, 1);
