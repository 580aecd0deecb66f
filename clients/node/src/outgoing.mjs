// What is said to the daemon, in order: at once, or in one write with what follows in the same turn of the event loop.
// What waits is written before anything that does not, at the end of the turn, and when it has waited for more than a
// moment: a call that blocks keeps back the answers of a moment, not those of all the calls before it.
import { liveNow } from './live.mjs';

// Of characters. Less than half of what is sent ahead is answered in one write, so that the daemon has work while this
// side goes on; and a write costs as much as some calls do.
const FULL = 10 * 1024;

// In milliseconds. Quick calls fill a write in less.
const MOMENT = 4;

export class Outgoing {
  #send;
  #soon;
  #text = '';
  #since = 0; // when the first of it was said
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
    const waited = liveNow() - this.#since;
    if (this.#text.length > FULL || waited >= MOMENT || waited < 0) this.say('');
  }

  /** From now on `last()` and what waits is written in the next turn of the event loop. */
  arm() {
    if (this.#armed) return;
    this.#armed = true;
    this.#soon(this.#turned);
  }
}
