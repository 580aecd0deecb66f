// The door of a call that a daemon runs: what proxies, and handlers that say what JSON cannot carry, go through there.
// On record their live values come back as JSON has them, on replay nothing live is reached.
import { exactText, nearestText, readBack } from './taped.mjs';

export class HostedDoor {
  hosted = true;
  /** The context of the call. */
  ctx = null;
  #peer;
  #call;

  constructor(peer, call) {
    this.#peer = peer;
    this.#call = call;
  }

  get over() {
    return this.#call.over;
  }

  /** Asks for what `run`, a method of `self`, answers. `question`: {key, text, atOnce}. */
  effect(question, args, run, self) {
    if (this.#peer.isLive()) return Reflect.apply(run, self, args);
    const rest = question.text + argumentsText(args, null);
    if (question.atOnce) {
      return this.#peer.respondNow(this.#call, question.key, () => readBack(Reflect.apply(run, self, args)), rest);
    }
    const produce = async () => readBack(await Reflect.apply(run, self, args));
    return this.#peer.respond(this.#call, question.key, produce, rest);
  }
}

/** The member "args" of a question, none where there are no arguments. `call` is told if they are not exact. */
export function argumentsText(args, call) {
  if (args.length === 0) return '';
  const exact = exactText(args);
  if (exact === null && call !== null) call.lossy = true;
  return `,"args":${exact ?? nearestText(args)}`;
}
