// The errors a handler can meet, and errors as they travel: E = {type, message, args?, data?}.
// No stack travels: paths of one machine have no business on a tape that others read.
import { types } from 'node:util';

// Known by symbol, not by class: the host and the handler may have loaded two copies of this package.
const KEEPS_ITS_TYPE = Symbol.for('playhead.error.type');

/** An error that is the same in every language: `type` and `message`, whatever the class is called here. */
export class HandlerError extends Error {
  constructor(type, message = '', { args, data, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.type = type;
    hide(this, 'name', type);
    if (args !== undefined) this.args = args;
    if (data !== undefined) this.data = data;
  }

  get [KEEPS_ITS_TYPE]() {
    return this.type;
  }
}

/** A recorded error for which this program has no class. It leaves the handler under its recorded type. */
export class RecordedError extends HandlerError {}

/** The handler asked what the tape cannot answer. Catching it does not turn the verdict green again. */
export class DeterminismError extends Error {
  constructor(message, data = {}) {
    super(message);
    this.kind = typeof data?.kind === 'string' ? data.kind : 'question';
    this.data = data;
  }
}

/** The context was asked after the handler had answered. */
export class CallEnded extends Error {}
/** The daemon gave this call up. */
export class Cancelled extends Error {}
/** The policy forbids what this call would write. */
export class Forbidden extends Error {}
/** A value or a frame is larger than both sides agreed on. */
export class LimitExceeded extends Error {}
/** One side broke the protocol. */
export class ProtocolError extends Error {}

for (const own of [DeterminismError, CallEnded, Cancelled, Forbidden, LimitExceeded, ProtocolError]) {
  hide(own.prototype, 'name', own.name);
}

/**
 * A value that JSON cannot carry, with the JSON Pointer of the part that is to blame. The same type in every client.
 */
export class NotJSON extends TypeError {
  constructor(what, pointer, reason) {
    super(`${what}${pointer === '' ? '' : ` at ${pointer}`}: ${reason}`);
    this.pointer = pointer;
  }
}
hide(NotJSON.prototype, 'name', 'NotJSON');

const BY_CODE = new Map([
  [-32003, CallEnded],
  [-32012, Forbidden],
  [-32013, LimitExceeded],
  [-32800, Cancelled],
]);

/** The daemon's JSON-RPC error as the exception that the handler sees. */
export function fromWire(error) {
  const message = typeof error?.data?.message === 'string' ? error.data.message : String(error?.message);
  if (error?.code === -32010) return new DeterminismError(message, error.data);
  const known = BY_CODE.get(error?.code) ?? ProtocolError;
  return new known(message);
}

export const isError = (thrown) => thrown instanceof Error || types.isNativeError(thrown);

/** What was thrown, as E. `evidence` adds an error's own plain fields (`code`, `syscall`, ...) as `data`. */
export function toE(thrown, { evidence = false } = {}) {
  if (!isError(thrown)) return { type: typeof thrown, message: text(thrown) };
  const e = { type: typeOf(thrown), message: messageOf(thrown) };
  if (KEEPS_ITS_TYPE in thrown) {
    if (Array.isArray(thrown.args)) e.args = thrown.args;
    if (thrown.data !== undefined) e.data = thrown.data;
  } else if (evidence) {
    const data = plainFields(thrown);
    if (data !== null) e.data = data;
  }
  return e;
}

/** E as an error to throw: a registered reviver's, the language's own class of that name, or a RecordedError. */
export function revive(e, revivers, cause) {
  const type = String(e?.type);
  const message = String(e?.message ?? '');
  const registered = Object.hasOwn(revivers, type) ? revivers[type] : undefined;
  const error = registered === undefined ? ownClass(type, message, e) : registered(e);
  if (cause !== undefined && isError(error) && error.cause === undefined) hide(error, 'cause', cause);
  return error;
}

function ownClass(type, message, e) {
  const known = globalThis[type];
  if (known === AggregateError) return new AggregateError([], message);
  if (typeof known !== 'function' || !(known === Error || known.prototype instanceof Error)) {
    return withFields(new RecordedError(type, message, { args: e.args, data: e.data }), e.data);
  }
  return withFields(new known(message), e.data);
}

// Programs test `error.code === 'ENOENT'`: what was recorded of an error's own fields comes back with it.
function withFields(error, data) {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return error;
  for (const [name, value] of Object.entries(data)) {
    if (!(name in error) && name !== '__proto__' && isPlain(value)) error[name] = value;
  }
  return error;
}

function plainFields(thrown) {
  const data = {};
  let found = false;
  for (const name of Object.keys(thrown)) {
    if (name === 'name' || name === 'message' || name === 'stack' || name === '__proto__') continue;
    if (!isPlain(thrown[name])) continue;
    data[name] = thrown[name];
    found = true;
  }
  return found ? data : null;
}

const isPlain = (value) =>
  value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

function typeOf(thrown) {
  const kept = thrown[KEEPS_ITS_TYPE];
  if (typeof kept === 'string' && kept !== '') return kept;
  // `class Declined extends Error {}` inherits the name "Error": the class says more.
  const name = thrown.name;
  if (typeof name === 'string' && name !== '' && name !== 'Error') return name;
  return thrown.constructor?.name || 'Error';
}

function messageOf(thrown) {
  try {
    return text(thrown.message);
  } catch {
    return ''; // a getter that throws: the handler has raised, and says so
  }
}

function text(value) {
  try {
    return String(value);
  } catch {
    return typeof value; // Object.create(null), or a toString that throws
  }
}

function hide(object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
}
