// The JSON text of whatever an application holds. Where the values of a handler are refused, these are written as well
// as JSON can: the application must not notice. Nothing here throws.
import { types } from 'node:util';
import { isError, toE } from './errors.mjs';
import { MAX_DEPTH, isExact } from './values.mjs';

/** The JSON text of `value` where it loses nothing by it, `undefined` being null; else null. */
export function exactText(value) {
  switch (typeof value) {
    case 'undefined':
      return 'null';
    case 'boolean':
      return value ? 'true' : 'false';
    case 'string':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? value + '' : null;
  }
  try {
    return isExact(value) ? JSON.stringify(value) : null;
  } catch {
    return null; // a getter that throws, a text too long for a string
  }
}

const MOST_VALUES = 100_000;

/**
 * The nearest JSON text of a value that has no exact one. Dates and all that has a toJSON as they say, bigints by
 * their digits, maps as objects or pairs, sets as arrays, bytes in hex, errors as {type, message}; NaN, functions,
 * symbols, cycles and what is deeper than 1,000 levels are null, or left out where they are members.
 */
export function nearestText(value) {
  try {
    return write(value, [], { left: MOST_VALUES }) ?? 'null';
  } catch {
    return 'null'; // too much of it, or a text too long for a string
  }
}

class TooMuch extends Error {}

// undefined for what JSON leaves out.
function write(value, above, budget) {
  if (--budget.left < 0) throw new TooMuch();
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'number':
      return Number.isFinite(value) ? value + '' : 'null';
    case 'bigint':
      return String(value);
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null || above.length >= MAX_DEPTH || above.includes(value)) return 'null';
  above.push(value);
  try {
    return writeObject(value, above, budget);
  } catch (error) {
    if (error instanceof TooMuch || error instanceof RangeError) throw error;
    return 'null'; // code of the application's that throws
  } finally {
    above.pop();
  }
}

function writeObject(value, above, budget) {
  if (ArrayBuffer.isView(value)) {
    return JSON.stringify(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex'));
  }
  if (types.isAnyArrayBuffer(value)) return JSON.stringify(Buffer.from(value).toString('hex'));
  if (typeof value.toJSON === 'function') return write(value.toJSON(), above, budget);
  if (Array.isArray(value) || types.isSet(value)) return writeItems(value, above, budget);
  if (types.isMap(value)) {
    const keys = [...value.keys()];
    return keys.every((key) => typeof key === 'string')
      ? writeMembers(keys, (key) => value.get(key), above, budget)
      : writeItems(value, above, budget);
  }
  if (isError(value)) return write(toE(value), above, budget);
  if (types.isRegExp(value)) return JSON.stringify(String(value));
  if (types.isBoxedPrimitive(value)) return write(value.valueOf(), above, budget);
  return writeMembers(Object.keys(value), (key) => value[key], above, budget);
}

function writeItems(values, above, budget) {
  const texts = [];
  for (const item of values) texts.push(write(item, above, budget) ?? 'null');
  return `[${texts.join(',')}]`;
}

function writeMembers(keys, get, above, budget) {
  const texts = [];
  for (const key of keys) {
    const text = write(get(key), above, budget);
    if (text !== undefined) texts.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${texts.join(',')}}`;
}

/** What is read back where `value` was written: itself where that loses nothing. */
export function readBack(value) {
  return exactText(value) === null ? JSON.parse(nearestText(value)) : value;
}
