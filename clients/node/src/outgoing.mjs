// What is said to the daemon, in order: at once, or in one write with what follows in the same turn of the event loop.
// What waits is written before anything that does not, at the end of the turn, and when it has waited for more than a
// moment: a call that blocks keeps back the answers of a moment, not those of all the calls before it.
import { liveNow } from './live.mjs';

// Of characters. Far below what a pipe holds, so that the daemon reads while this side goes on.
const FULL = 32 * 1024;

export class Outgoing {
  #send;
  #soon;
  #text = '';
  #since = 0; // the millisecond in which the first of it was said
  #armed = false;
  #turned;

  /** `send(text)` writes, `soon(run)` runs in a later turn of the event loop, `last()` gives what else has to be said. */
  constructor(send, soon, last) {
    this.#send = send;
    this.#soon = soon;
    this.#turned = () => {
      this.#armed = false;
      this.say(last());
    };
  }

  /** Whether something waits to be written. */
  get waits() {
    return this.#text !== '';
  }

  /** Writes what waits and `text`. */
  say(text) {
    const whole = this.#text + text;
    if (whole === '') return;
    this.#text = '';
    this.#send(whole);
  }

  /** Keeps `text` for one write with what follows, unless there has been enough of it. */
  add(text) {
    if (this.#text === '') {
      this.#text = text;
      this.#since = liveNow();
      this.arm();
      return;
    }
    this.#text += text;
    if (this.#text.length > FULL || liveNow() !== this.#since) this.say('');
  }

  /** From now on `last()` and what waits is written in the next turn of the event loop. */
  arm() {
    if (this.#armed) return;
    this.#armed = true;
    this.#soon(this.#turned);
  }
}
