// The application's side of recording in production: what is wrapped runs as ever, and is recorded while it runs.
import path from 'node:path';
import { createContext } from './context.mjs';
import { Recorder } from './recorder.mjs';
import { DOOR, OFF, doorHere, storage, surroundings } from './running.mjs';
import { VERSION } from './serve.mjs';
import { installShims } from './shims.mjs';
import { exactText, nearestText, readBack } from './taped.mjs';
import { isPlainPromise, isThenable, observed, withMembersOf } from './thenables.mjs';
import { validTraceparent } from './traceparent.mjs';
import { wrapClient } from './wrap.mjs';

const QUEUE_BYTES = 16 * 1024 * 1024;
const EXIT_MS = 2000;

/** See index.d.ts. Throws TypeError for options that mean nothing; from then on nothing is thrown. */
export function attach(options = {}) {
  return new Attached(settings(options));
}

function settings({
  out = 'flight',
  daemon = ['playhead', 'serve'],
  enabled = true,
  gate = null,
  queueBytes = QUEUE_BYTES,
  constants = {},
  onForbid = undefined,
  name = undefined,
  policy = undefined,
  traceparent = undefined,
  durability = 'ask',
  exitMs = EXIT_MS,
}) {
  check(typeof out === 'string' && out !== '', 'out is a folder, or a path that ends in .jsonl');
  check(isCommand(daemon), 'daemon is a program and its arguments: an array of strings');
  check(queueBytes > 0, 'queueBytes is a number above 0');
  check(exitMs >= 0, 'exitMs is a number of milliseconds');
  check(durability === 'ask' || durability === 'call', 'durability is "ask" or "call"');
  check([undefined, 'drop', 'raise'].includes(onForbid) || typeof onForbid === 'function', ON_FORBID);
  check(constants !== null && typeof constants === 'object', 'constants is an object');
  const open = { mode: 'record', out: path.resolve(out), constants: inJson(constants) };
  if (name !== undefined) open.name = String(name);
  if (policy !== undefined) open.policy = path.resolve(policy);
  const client = { name: 'playhead-client', version: VERSION, language: 'node', runtime: `Node ${process.version}` };
  return {
    daemon,
    client,
    open,
    once: out.endsWith('.jsonl'),
    enabled: Boolean(enabled),
    gate,
    queueBytes,
    traceparent,
    durability,
    exitMs,
    onForbid,
  };
}

const ON_FORBID = 'onForbid is "drop", "raise" or a function';

function check(holds, what) {
  if (!holds) throw new TypeError(`attach(): ${what}`);
}

const isCommand = (daemon) =>
  Array.isArray(daemon) && daemon.length > 0 && daemon.every((word) => typeof word === 'string');

const inJson = (value) => JSON.parse(exactText(value) ?? nearestText(value));

class Attached {
  #recorder;
  #functions = new Map();
  #unshim = null;
  #enabled;

  constructor(options) {
    this.#recorder = new Recorder(options);
    this.#enabled = options.enabled;
    if (surroundings.hosted) storage();
  }

  wrap(subject, handler, options) {
    if (typeof subject !== 'string') return wrapClient(subject, handler, options);
    if (typeof handler !== 'function')
      throw new TypeError(`wrap(${JSON.stringify(subject)}): the handler is no function`);
    const recorder = this.#recorder;
    const live = liveContext(recorder, subject);
    const wrapped = function (event, ctx) {
      const door = ctx?.[DOOR] ?? doorHere();
      if (door !== null) {
        const output = Reflect.apply(handler, this, [event, ctx?.[DOOR] === undefined ? door.ctx : ctx]);
        return door.hosted ? exactly(output) : output;
      }
      const call = isFarSide() ? null : recorder.begin(subject, event);
      if (call === null) return Reflect.apply(handler, this, [event, live]);
      return follow(recorder, call, handler, this, [event, call.ctx]);
    };
    return this.#named(subject, wrapped, handler);
  }

  tool(name, fn) {
    if (typeof fn !== 'function') throw new TypeError(`tool(${JSON.stringify(name)}): this is no function`);
    const recorder = this.#recorder;
    const wrapped = function (...args) {
      const hosted = args.length === 2 && args[1]?.[DOOR]?.hosted === true;
      if (hosted) return exactly(Reflect.apply(fn, this, argumentsOf(args[0])));
      const call = doorHere() !== null || isFarSide() ? null : recorder.begin(name, eventOf(args));
      return call === null ? Reflect.apply(fn, this, args) : follow(recorder, call, fn, this, args);
    };
    return this.#named(name, wrapped, fn);
  }

  #named(name, wrapped, original) {
    for (const [member, value] of [
      ['name', original.name],
      ['length', original.length],
    ]) {
      Object.defineProperty(wrapped, member, { value, configurable: true });
    }
    this.#functions.set(name, wrapped);
    return wrapped;
  }

  handlers() {
    return Object.fromEntries(this.#functions);
  }

  shim() {
    // Off means off: the globals are nobody's business then.
    if (this.#enabled || surroundings.hosted) this.#unshim ??= installShims();
  }

  withTraceparent(traceparent, fn) {
    const valid = validTraceparent(traceparent);
    if (valid === null || surroundings.storage === null || doorHere() !== null || isFarSide()) return fn();
    return surroundings.storage.run({ traceparent: valid }, fn);
  }

  note(name, data) {
    doorHere()?.ctx.note(name, data);
  }

  observe(name, value, at) {
    doorHere()?.ctx.observe(name, value, at);
  }

  span(name, data, run) {
    const door = doorHere();
    if (door !== null) return door.ctx.span(name, data, run);
    const body = typeof data === 'function' && run === undefined ? data : run;
    return body === undefined ? { end() {} } : body();
  }

  stats() {
    return this.#recorder.stats();
  }

  async close() {
    this.#unshim?.();
    this.#unshim = null;
    return this.#recorder.close();
  }
}

const isFarSide = () => surroundings.storage !== null && surroundings.storage.getStore() === OFF;

function follow(recorder, call, fn, self, args) {
  const end = (output) => {
    call.end(output);
    if (call.isLoud) recorder.confirmAside(call);
  };
  const raise = (error) => {
    call.raise(error);
    if (call.isLoud) recorder.confirmAside(call);
  };
  let value;
  try {
    value = surroundings.storage.run(call, Reflect.apply, fn, self, args);
  } catch (error) {
    raise(error);
    throw error;
  }
  if (!isThenable(value)) {
    end(value);
    return value;
  }
  if (!isPlainPromise(value)) return observed(value, end, raise);
  const ended = (output) => {
    call.end(output);
    return call.isLoud ? recorder.confirm(call).then(() => output) : output;
  };
  const failed = (error) => {
    raise(error);
    throw error;
  };
  return withMembersOf(value, value.then(ended, failed));
}

// What a recorder wrote of an output that JSON cannot carry is what a replay has to compare.
function exactly(output) {
  return isThenable(output) ? Promise.resolve(output).then(readBack) : readBack(output);
}

const LIVE = {
  isLive: () => true,
  encode: () => 'null',
};

// For calls that are not recorded: one for all of them, since a plain call may not cost more than that.
function liveContext(recorder, fn) {
  const context = createContext(LIVE, { number: 0, seq: 0, fn }, null);
  return Object.defineProperty(context, 'seq', { enumerable: true, get: () => Math.max(recorder.seq - 1, 0) });
}

// A tool that is given one plain object has its arguments by name, any other has them by position. An object that would
// be taken for those goes among them.
function eventOf(args) {
  const [only] = args;
  if (args.length === 1 && isNames(only) && !isPositional(only)) return only;
  return { args };
}

const argumentsOf = (event) => (isPositional(event) ? event.args : [event]);

function isNames(value) {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isPositional(value) {
  return value !== null && typeof value === 'object' && Array.isArray(value.args) && Object.keys(value).length === 1;
}
