// Doors for code that has no context: a client whose named methods are asked for in the call that is running. On record
// the real method runs, on replay under a host the tape answers, and outside of any call nothing is changed.
import { DOOR, OFF, storage, surroundings } from './running.mjs';

/**
 * A transparent proxy of `client`: a call of one of `methods` is an ask with the key "prefix.method" of the call that
 * is running; all else passes through to `client` itself. `sync` names those that answer at once (as all whose name
 * ends with "Sync" do): what they were on record cannot be seen from a tape. Throws TypeError for a name that is no
 * method.
 */
export function wrapClient(client, methods, { prefix = '', sync = [] } = {}) {
  if (client === null || (typeof client !== 'object' && typeof client !== 'function')) {
    throw new TypeError('wrap(client, methods): the client is no object');
  }
  const questions = new Map();
  for (const name of methods) {
    if (typeof client[name] !== 'function') throw new TypeError(`wrap(client, methods): there is no method ${name}`);
    const key = prefix === '' ? name : `${prefix}.${name}`;
    questions.set(name, new Question(key, sync.includes(name) || name.endsWith('Sync')));
  }
  for (const name of sync) {
    if (!questions.has(name)) throw new TypeError(`wrap(client, methods): ${name} is in sync, but not in methods`);
  }
  // For the host to run its calls in.
  if (surroundings.hosted) storage();
  const doors = new Map(); // method -> {of: the client's function, door}
  const passed = new WeakMap(); // function of the client -> the same, called on the client
  const doorOf = (name, method) => {
    let known = doors.get(name);
    if (known === undefined || known.of !== method) {
      known = { of: method, door: createDoor(questions.get(name), method, client, () => proxy) };
      doors.set(name, known);
    }
    return known.door;
  };
  const passing = (method) => {
    let known = passed.get(method);
    if (known === undefined) {
      known = new Proxy(method, {
        // A method that finds its private fields needs the client for `this`.
        apply(target, self, args) {
          const value = Reflect.apply(target, self === proxy ? client : self, args);
          return value === client ? proxy : value;
        },
      });
      passed.set(method, known);
    }
    return known;
  };
  const proxy = new Proxy(targetFor(client, questions), {
    get(target, name) {
      const value = Reflect.get(client, name, client);
      if (typeof value !== 'function') return value;
      return questions.has(name) ? doorOf(name, value) : isFixed(target, name) ? value : passing(value);
    },
    set: (target, name, value) => Reflect.set(client, name, value, client),
    has: (target, name) => Reflect.has(client, name),
    apply: (target, self, args) => Reflect.apply(client, self, args),
  });
  return proxy;
}

// A proxy may not answer for a frozen member what that is not. Then it stands before an unfrozen likeness.
function targetFor(client, questions) {
  if (![...questions.keys()].some((name) => isFixed(client, name))) return client;
  const likeness = typeof client === 'function' ? function () {} : {};
  Object.setPrototypeOf(likeness, Object.getPrototypeOf(client));
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(client))) {
    Object.defineProperty(likeness, name, { ...descriptor, configurable: true });
  }
  return likeness;
}

function isFixed(target, name) {
  const descriptor = Reflect.getOwnPropertyDescriptor(target, name);
  return descriptor !== undefined && !descriptor.configurable && descriptor.writable === false;
}

class Question {
  #warned = false;

  constructor(key, atOnce) {
    this.key = key;
    this.atOnce = atOnce;
    this.text = `,"key":${JSON.stringify(key)}`;
  }

  answeredAtOnce() {
    if (!this.atOnce) this.#warn('answered at once: on replay it will be a promise, unless wrap() is told so (sync)');
  }

  answeredLater() {
    if (this.atOnce) this.#warn('answered later: on replay it will not, unless its name is taken out of sync');
  }

  #warn(what) {
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(`${this.key} ${what}`, 'PlayheadWarning');
  }
}

function createDoor(question, method, client, proxyOf) {
  function door(...args) {
    const self = this === proxyOf() ? client : this;
    const store = surroundings.storage === null ? undefined : surroundings.storage.getStore();
    if (store !== undefined && store.effect !== undefined && (!store.over || store.hosted)) {
      return store.effect(question, args, method, self);
    }
    if (store !== OFF && surroundings.current !== null) return lost(question, args, method, self);
    return Reflect.apply(method, self, args);
  }
  Object.defineProperty(door, 'name', { value: question.key });
  return door;
}

// A daemon runs a call, and this is not known to be part of it: a listener of another call's, a pool, a timer. While a
// tape is replayed nothing may be reached live, so it is said aloud, and then asked of the daemon, which knows nothing
// of it.
function lost(question, args, method, self) {
  const ctx = surroundings.current;
  ctx.escaped(question.key, callerOf(lost));
  return ctx[DOOR].effect(question, args, method, self);
}

function callerOf(above) {
  const at = {};
  Error.captureStackTrace(at, above);
  const lines = String(at.stack).split('\n').slice(1);
  const line = lines.find((each) => !each.includes(import.meta.url)) ?? '';
  return line.trim().replace(/^at /, '').replaceAll(`file://${process.cwd()}/`, '');
}
