// What an application gets where it called something that answers later: the same as without us. A promise of a plain
// kind is followed by another, so that one that nobody handles still is one that nobody handles. Anything else that has
// a then(), such as a query that runs when it is awaited, stays the very object, and is listened to when it is.
import { types } from 'node:util';

export const isThenable = (value) =>
  value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';

/** A promise that awaiting does not ask for its then(). */
export function isPlainPromise(value) {
  if (value instanceof Promise) return value.constructor === Promise && !Object.hasOwn(value, 'then');
  if (!types.isPromise(value) || Object.hasOwn(value, 'then')) return false;
  // Of another realm: its prototype stands right on Object.prototype.
  return Object.getPrototypeOf(Object.getPrototypeOf(Object.getPrototypeOf(value))) === null;
}

/** `follower`, with what someone has put on `promise` for their callers. */
export function withMembersOf(promise, follower) {
  for (const name of Object.keys(promise)) {
    Object.defineProperty(follower, name, Object.getOwnPropertyDescriptor(promise, name));
  }
  return follower;
}

/** `thenable` itself; the first outcome that it tells anyone is told to `onValue` or `onError` before. */
export function observed(thenable, onValue, onError) {
  const own = thenable.then;
  let told = false;
  const tell = (listener, outcome) => {
    if (told) return;
    told = true;
    listener(outcome);
  };
  function then(onFulfilled, onRejected) {
    const fulfilled = (value) => {
      tell(onValue, value);
      return typeof onFulfilled === 'function' ? onFulfilled(value) : value;
    };
    const rejected = (error) => {
      tell(onError, error);
      if (typeof onRejected === 'function') return onRejected(error);
      throw error;
    };
    return Reflect.apply(own, this, [fulfilled, rejected]);
  }
  try {
    Object.defineProperty(thenable, 'then', { value: then, writable: true, configurable: true, enumerable: false });
  } catch {
    // A frozen one: its answer stays unknown, which the tape says.
  }
  return thenable;
}
