// First in, first out, without the cost of Array.shift() in a long one.
export class Queue {
  #items = [];
  #head = 0;

  get empty() {
    return this.#head === this.#items.length;
  }

  put(item) {
    this.#items.push(item);
  }

  take() {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    }
    return item;
  }

  *[Symbol.iterator]() {
    for (let at = this.#head; at < this.#items.length; at++) yield this.#items[at];
  }

  /** Takes out the first item of which `matches` is true. */
  remove(matches) {
    const at = this.#items.findIndex((item, i) => i >= this.#head && matches(item));
    return at === -1 ? undefined : this.#items.splice(at, 1)[0];
  }
}

/** Takes `item` out of an array, in which it mostly stands alone. */
export function takeOut(items, item) {
  if (items.length === 1 && items[0] === item) items.pop();
  else {
    const at = items.indexOf(item);
    if (at !== -1) items.splice(at, 1);
  }
}
