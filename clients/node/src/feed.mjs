// What windows gave of answers and no call has taken yet: a lane of clock readings, one of draws, and one for each key
// of the outside. Values are taken from the front, in order; nothing is compared.

// Lanes of keys that are never asked again would pile up.
const MOST_KEYS = 1024;

export class Feed {
  now = new Lane();
  random = new Lane();
  #responds = new Map(); // key -> lane

  /** `window`: {now, random, respond}, each of which may be absent. */
  add({ now, random, respond }) {
    if (now !== undefined) this.now.add(now);
    if (random !== undefined) this.random.add(random);
    if (respond === undefined) return;
    for (const key of Object.keys(respond)) {
      const lane = this.#responds.get(key);
      if (lane === undefined) this.#open(key, respond[key]);
      else lane.add(respond[key]);
    }
  }

  /** The next answer of `key`, {value} or {error}, or undefined. */
  takeRespond(key) {
    return this.#responds.get(key)?.take();
  }

  /** Whether `window` is what add() takes. */
  static isWindow(window) {
    if (!isObject(window)) return false;
    const { now, random, respond } = window;
    if (!isLane(now) || !isLane(random)) return false;
    if (respond === undefined) return true;
    if (!isObject(respond)) return false;
    for (const key of Object.keys(respond)) if (!Array.isArray(respond[key])) return false;
    return true;
  }

  #open(key, items) {
    if (this.#responds.size >= MOST_KEYS) {
      for (const [each, { isEmpty }] of this.#responds) if (isEmpty) this.#responds.delete(each);
    }
    const lane = new Lane();
    lane.add(items);
    this.#responds.set(key, lane);
  }
}

class Lane {
  #items = [];
  #at = 0;

  get isEmpty() {
    return this.#at === this.#items.length;
  }

  // The array is the window's own, which nobody else holds.
  add(items) {
    if (this.#at === this.#items.length) {
      this.#items = items;
      this.#at = 0;
      return;
    }
    if (this.#at * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#at);
      this.#at = 0;
    }
    for (const item of items) this.#items.push(item);
  }

  take() {
    return this.#at === this.#items.length ? undefined : this.#items[this.#at++];
  }
}

const isLane = (lane) => lane === undefined || Array.isArray(lane);

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
