// Calls that wait for their turn, in the order in which they came. A frame that begins as the daemon writes a `handle`
// is kept as the text it is, and read when its turn comes: what a hundred calls have been read into, and the collector
// would copy about, costs more than the reading. A mistake in it is found when it is read.
import { Queue } from './queue.mjs';

const HEAD = '{"jsonrpc":"2.0","id":';
const METHOD = ',"method":"handle","params":';
const CALL = `${METHOD}{"call":`;
const BRACE = 0x7d;

/** Whether a frame may be kept unread. */
export const isHandle = (text) => text.startsWith(HEAD) && text.startsWith(CALL, text.indexOf(',', HEAD.length));

/** The message in a frame of which isHandle() is true, where it can be had without reading all of it; else null. */
export function handleIn(text) {
  const at = text.indexOf(',', HEAD.length);
  const digits = text.slice(HEAD.length, at);
  const id = +digits;
  // What is left is one JSON object, or the frame is read as any other.
  if (!Number.isInteger(id) || id + '' !== digits || text.charCodeAt(text.length - 1) !== BRACE) return null;
  try {
    return { id, method: 'handle', params: JSON.parse(text.slice(at + METHOD.length, -1)) };
  } catch {
    return null;
  }
}

/** A call from its frame to its answer: what is known of it, before and while it runs. */
export const newCall = (id, number, seq, fn, event, window) => ({
  id,
  number,
  seq,
  fn,
  event,
  window, // until it begins
  asked: 0,
  spans: 0,
  open: [], // questions not handed over yet
  over: false,
  cancelled: false,
  failure: null, // the daemon refused a settlement
  door: null,
  items: '', // asks that have not been said
  produces: false, // answers come from here, and nobody waits for them
  // What it says may go out with what the next call says, unless it is the only evidence of what was done.
  mayWait: false,
});

export class Handles {
  #waiting = new Queue(); // handles, and texts of those that have not been read
  #read;

  /** `read(text)` gives the call in a frame that was kept, or null where there is none, and all has been said. */
  constructor(read) {
    this.#read = read;
  }

  get empty() {
    return this.#waiting.empty;
  }

  /** A call, as newCall() gives it, or the text of a frame. */
  put(handle) {
    this.#waiting.put(handle);
  }

  /** The next handle, or undefined. */
  take() {
    for (;;) {
      const next = this.#waiting.take();
      if (typeof next !== 'string') return next;
      const handle = this.#read(next);
      if (handle !== null) return handle;
    }
  }

  /** Reads those that were kept, for what has to know of all of them. */
  readAll() {
    const waiting = this.#waiting;
    this.#waiting = new Queue();
    for (const next of waiting) {
      const handle = typeof next === 'string' ? this.#read(next) : next;
      if (handle !== null) this.#waiting.put(handle);
    }
  }

  /** Call `number`, if it waits, will be answered without being run. */
  cancel(number) {
    this.readAll();
    for (const handle of this.#waiting) if (handle.number === number) handle.cancelled = true;
  }

  /** Takes all that was given ahead out of the windows. */
  withdraw() {
    this.readAll();
    for (const handle of this.#waiting) {
      if (handle.window !== null) handle.window = { produce: handle.window.produce };
    }
  }
}
