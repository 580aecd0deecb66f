// Which calls are recorded: a gate, as data or as a function, asked about every call before anything is written of it.
// As data it means the same in every client (protocol/vectors/policy/gate). One that cannot be evaluated is a no.
import crypto from 'node:crypto';

const { createHash, randomFillSync } = crypto;

const always = () => true;
const never = () => false;

/**
 * `(fn, event, trace) -> boolean`, which never throws. `trace()` gives the trace id of the call's surroundings, or
 * null. `gate`: null, a function `(fn, event) -> boolean`, or {functions, where, sample}. `draw` gives a number in
 * [0, 1) for calls without a trace. Throws TypeError for what is no gate.
 */
export function compileGate(gate, draw = drawn) {
  if (gate === undefined || gate === null) return always;
  if (typeof gate === 'function') return guarded((fn, event) => yes(gate(fn, event)));
  if (typeof gate !== 'object' || Array.isArray(gate)) {
    throw new TypeError('a gate is a function, or an object with functions, where and sample');
  }
  const { functions = null, where = null, sample = null } = gate;
  const conditions = [];
  if (functions !== null) conditions.push(named(functions));
  if (where !== null) conditions.push(holding(where));
  if (sample !== null) conditions.push(sampled(sample, draw));
  return guarded((fn, event, trace) => conditions.every((holds) => holds(fn, event, trace)));
}

/** The gate that a daemon gave: one that is none lets nothing through. */
export function givenGate(gate, draw = drawn) {
  try {
    return compileGate(gate, draw);
  } catch {
    return never;
  }
}

const guarded = (holds) => (fn, event, trace) => {
  try {
    return holds(fn, event, trace);
  } catch {
    return false;
  }
};

// A promise is no answer: the call will not wait for it.
function yes(answer) {
  if (typeof answer?.then === 'function') {
    answer.then(undefined, () => {});
    return false;
  }
  return Boolean(answer);
}

const MOST_NAMES = 1000;

function named(globs) {
  if (!Array.isArray(globs) || !globs.every((glob) => typeof glob === 'string')) {
    throw new TypeError('functions of a gate is a list of names with * and ?');
  }
  const patterns = globs.map((glob) => [...glob]);
  const known = new Map();
  return (fn) => {
    let found = known.get(fn);
    if (found === undefined) {
      const name = [...fn];
      found = patterns.some((pattern) => matches(pattern, name));
      if (known.size < MOST_NAMES) known.set(fn, found);
    }
    return found;
  };
}

// The whole name. Goes back to the last star only, so the time is that of name times pattern at most.
function matches(pattern, name) {
  let p = 0;
  let star = -1;
  let resume = 0;
  for (let n = 0; n < name.length;) {
    if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === name[n])) {
      p++;
      n++;
    } else if (star !== -1) {
      p = star + 1;
      n = ++resume;
    } else return false;
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}

function holding(where) {
  if (typeof where !== 'object' || Array.isArray(where)) {
    throw new TypeError('where of a gate is an object of JSON Pointers and values');
  }
  const expected = Object.entries(where).map(([pointer, value]) => [tokensOf(pointer), value]);
  return (fn, event) => expected.every(([tokens, value]) => isAt(event, tokens, value));
}

function tokensOf(pointer) {
  if (pointer !== '' && (!pointer.startsWith('/') || /~(?![01])/.test(pointer))) {
    throw new TypeError(`where of a gate: ${JSON.stringify(pointer)} is no JSON Pointer`);
  }
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function isAt(event, tokens, expected) {
  let value = asJson(event);
  for (const token of tokens) {
    if (value === null || typeof value !== 'object') return false;
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(token)) return false;
    if (!Object.hasOwn(value, token)) return false;
    value = asJson(value[token]);
  }
  return isEqual(value, expected);
}

// The event is looked at before it is written down: as it will be.
function asJson(value) {
  return value !== null && typeof value === 'object' && typeof value.toJSON === 'function' ? value.toJSON() : value;
}

// As canonical texts are: by value, members in any order, -0 being 0.
function isEqual(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isEqual(asJson(a[name]), b[name]));
}

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/;

function sampled(share, draw) {
  if (typeof share !== 'number' || !(share >= 0 && share <= 1)) {
    throw new TypeError('sample of a gate is a number from 0 to 1');
  }
  return (fn, event, trace) => {
    if (share === 1) return true;
    const id = trace();
    return (id === null || !TRACE_ID.test(id) ? draw() : shareOf(id)) < share;
  };
}

/** Where in [0, 1) a trace falls, for every service that sees it: by the first 8 bytes of the SHA-256 of its id. */
export function shareOf(traceId) {
  return Number(createHash('sha256').update(traceId).digest().readBigUInt64BE(0)) / 2 ** 64;
}

// Chance of its own: an application that seeds Math.random would record the same calls on every run.
const draws = new Uint32Array(1024);
let left = 0;

function drawn() {
  if (left === 0) {
    randomFillSync(draws);
    left = draws.length;
  }
  return draws[--left] / 2 ** 32;
}
