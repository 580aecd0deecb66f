// What JSON carries and what it would lose: a value is written whole or refused with the JSON Pointer of the part to
// blame. JSON.stringify alone turns NaN into null, a Date into a text and a Map into {}; a tape that did so would
// lie.
import { types } from 'node:util';
import { NotJSON } from './errors.mjs';

export const MAX_DEPTH = 1000;

/** The JSON text of `value`; `undefined` is null. Throws NotJSON; `what` says in the message what was being written. */
export function encode(value, what) {
  switch (typeof value) {
    case 'undefined':
      return 'null';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'string':
      return JSON.stringify(value);
    case 'number':
      // (-0) + '' is "0", as JSON.stringify writes it.
      if (Number.isFinite(value)) return value + '';
  }
  const found = fault(value, 0);
  if (found !== null) refuse(value, what, found);
  return JSON.stringify(value);
}

/** Whether `encode` would write `value`, and lose nothing by it. */
export function isExact(value) {
  return value === undefined || fault(value, 0) === null;
}

/** What the other side reads where `encode` wrote `text` for `value`. */
export function decoded(value, text) {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
    case 'string':
      return value;
    case 'number':
      return value + 0; // -0 has no sign on the wire
  }
  return value === null ? null : JSON.parse(text);
}

function refuse(value, what, { reason, path }) {
  if (reason !== TOO_DEEP) throw new NotJSON(what, pointer(path), reason);
  const cycle = findCycle(value, [], new Set());
  if (cycle !== null) throw new NotJSON(what, pointer(cycle), 'a cycle has no JSON text');
  throw new NotJSON(what, pointer(path), reason);
}

const TOO_DEEP = `deeper than ${MAX_DEPTH} levels`;

const bad = (reason) => ({ reason, path: [] });

// null when the value is JSON. Paths are put together only on the way out of a refusal: the good case allocates
// nothing.
function fault(value, depth) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null;
    case 'number':
      return Number.isFinite(value) ? null : bad(`${value} is not finite`);
    case 'object':
      break;
    default:
      return bad(`${article(typeof value)} has no JSON text`);
  }
  if (value === null) return null;
  if (depth >= MAX_DEPTH) return bad(TOO_DEEP);
  if (Array.isArray(value)) {
    if (typeof value.toJSON === 'function') return bad(TO_JSON);
    for (let i = 0; i < value.length; i++) {
      const item = value[i];
      if (item === undefined && !(i in value)) continue; // a hole is null
      const found = fault(item, depth + 1);
      if (found !== null) return inside(found, i);
    }
    return null;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const reason = lossy(value);
    if (reason !== null) return bad(reason);
  }
  if (typeof value.toJSON === 'function') return bad(TO_JSON);
  const names = Object.keys(value);
  for (let i = 0; i < names.length; i++) {
    const found = fault(value[names[i]], depth + 1);
    if (found !== null) return inside(found, names[i]);
  }
  return null;
}

const TO_JSON = 'it has a toJSON method, and the value that is read back would be another: call it yourself';

function inside(found, token) {
  found.path.push(token);
  return found;
}

function article(kind) {
  return kind === 'undefined' ? 'undefined' : `a ${kind}`;
}

function lossy(value) {
  if (types.isDate(value)) return 'a Date would be read back as a string: return its getTime() or toISOString()';
  if (types.isMap(value) || types.isSet(value))
    return `a ${tag(value)} would be written as {}: spread it into an array`;
  if (types.isPromise(value)) return 'a Promise would be written as {}: await it';
  if (types.isNativeError(value) || value instanceof Error)
    return 'an Error would be written as {}: throw it, or return its message';
  if (types.isAnyArrayBuffer(value) || ArrayBuffer.isView(value))
    return `a ${tag(value)} is not JSON: return hex or base64 text`;
  if (types.isRegExp(value) || types.isBoxedPrimitive(value)) return `a ${tag(value)} would not be read back as one`;
  if (typeof value.toJSON !== 'function' && Object.keys(value).length === 0) {
    return `a ${tag(value)} without fields of its own would be written as {}`;
  }
  return null;
}

const tag = (value) => value.constructor?.name || Object.prototype.toString.call(value).slice(8, -1);

function findCycle(value, path, above) {
  if (value === null || typeof value !== 'object' || path.length > MAX_DEPTH) return null;
  if (above.has(value)) return path;
  above.add(value);
  for (const name of Object.keys(value)) {
    const found = findCycle(value[name], [name, ...path], above);
    if (found !== null) return found;
  }
  above.delete(value);
  return null;
}

// `path` comes innermost first.
function pointer(path) {
  return path
    .map((token) => '/' + String(token).replaceAll('~', '~0').replaceAll('/', '~1'))
    .reverse()
    .join('');
}
