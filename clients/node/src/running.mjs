// Which call a piece of code belongs to, across every await: what proxies and shims ask, since they are given no
// context. Shared by all copies of this package in one process: the host may have loaded another than the application.
import { AsyncLocalStorage } from 'node:async_hooks';

/** The member of a context that proxies go through. It has `over`, `hosted`, `ctx` and effect(). */
export const DOOR = Symbol.for('playhead.door.1');

/**
 * `storage`: null until someone needs it, since it slows every promise down. It holds a door, OFF, or {traceparent}.
 * `hosted`: a daemon runs this process, and nothing is recorded here. `current`: the context of the call that a host
 * runs, one at a time, whatever the code that asks has lost.
 */
export const surroundings = (globalThis[Symbol.for('playhead.surroundings.1')] ??= {
  storage: null,
  off: { off: true },
  hosted: false,
  current: null,
});

/** On the far side of a door: its answer is the boundary, and what is asked there is live and off the tape. */
export const OFF = surroundings.off;

export const storage = () => (surroundings.storage ??= new AsyncLocalStorage());

/** The door of the call that is running here, or null. */
export function doorHere() {
  const store = surroundings.storage?.getStore();
  return store === undefined || store.effect === undefined || (store.over && !store.hosted) ? null : store;
}
