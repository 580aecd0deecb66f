// What a handler is given: the clock, chance and the outside world, each through the daemon. A handler may take the
// functions out of the object (`const { now, respond } = ctx`), so they hold on to what they need themselves.
import { randomBytes, randomInt } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { ProtocolError } from './errors.mjs';
import { encode } from './values.mjs';

/** The context of one call; `lane` names a task whose questions have an order of their own, or is null. */
export function createContext(peer, call, lane) {
  const inLane = lane === null ? '' : `,"lane":${JSON.stringify(lane)}`;
  const monotonicRest = `,"clock":"monotonic"${inLane}`;

  const now = () => (peer.producing ? Date.now() : number(peer.ask(call, 'now', inLane), 'now'));

  const monotonic = () => (peer.producing ? performance.now() : number(peer.ask(call, 'now', monotonicRest), 'now'));

  const random = () => (peer.producing ? Math.random() : number(peer.ask(call, 'random', inLane), 'random'));

  const randint = (low, high) => {
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high))
      throw new TypeError('ctx.randint(low, high) takes two safe integers');
    if (low > high) throw new RangeError(`ctx.randint(${low}, ${high}): low is above high`);
    if (peer.producing) return liveInt(low, high);
    return number(peer.ask(call, 'random', `,"draw":"int","low":${low},"high":${high}${inLane}`), 'random');
  };

  const randbytes = (n) => {
    count(n, 'ctx.randbytes(n)');
    if (peer.producing) return randomBytes(n);
    const hex = peer.ask(call, 'random', `,"draw":"bytes","n":${n}${inLane}`);
    if (typeof hex !== 'string' || hex.length !== 2 * n)
      throw new ProtocolError(`the answer to random is not ${n} bytes in hex`);
    return Buffer.from(hex, 'hex');
  };

  const sample = (population, k) => {
    const n = typeof population === 'number' ? population : population.length;
    count(n, 'ctx.sample(population, k)');
    count(k, 'ctx.sample(population, k)');
    if (k > n) throw new RangeError(`ctx.sample: ${k} of ${n}`);
    const positions = peer.producing
      ? livePositions(n, k)
      : peer.ask(call, 'random', `,"draw":"sample","n":${n},"k":${k}${inLane}`);
    if (!Array.isArray(positions)) throw new ProtocolError('the answer to random is not a list of positions');
    return typeof population === 'number' ? positions : positions.map((at) => population[at]);
  };

  const uuid = () => {
    const bytes = randbytes(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = bytes.toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  };

  const respond = (key, produce, options) => {
    // Always a promise, as an async function would give: a wrong argument rejects.
    try {
      if (typeof key !== 'string') throw new TypeError('ctx.respond(key, produce): the key is not a string');
      if (typeof produce !== 'function')
        throw new TypeError(`ctx.respond(${JSON.stringify(key)}, produce): produce is not a function`);
      if (peer.producing) return new Promise((resolve) => resolve(produce()));
      return peer.respond(call, key, produce, `,"key":${JSON.stringify(key)}${argumentsOf(key, options)}${inLane}`);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  const note = (name, data) => {
    const rest = `,"name":${text(name, 'ctx.note(name, data)')}${member('data', data, 'ctx.note')}${inLane}`;
    // Said inside a producer it would be said on record only.
    if (!peer.producing) peer.tell(call, 'note', rest);
  };

  const observe = (name, value, at) => {
    const where = at === undefined ? '' : `,"at":${text(at, 'ctx.observe(name, value, at)')}`;
    const rest = `,"name":${text(name, 'ctx.observe(name, value)')},"value":${encode(value, 'ctx.observe')}${where}`;
    if (!peer.producing) peer.tell(call, 'observe', rest);
  };

  const escaped = (key, where) => {
    const place = where === undefined ? '' : `,"where":${text(where, 'ctx.escaped(key, where)')}`;
    if (!peer.producing) peer.tell(call, 'escaped', `,"key":${text(key, 'ctx.escaped(key)')}${place}`);
  };

  const span = (name, data, run) => {
    if (typeof data === 'function' && run === undefined) return span(name, undefined, data);
    const named = text(name, 'ctx.span(name, data, run)');
    const end = begin(named, member('data', data, 'ctx.span'));
    return run === undefined ? { end } : during(run, end);
  };

  const begin = (named, data) => {
    if (peer.producing) return () => {};
    const head = `,"sid":${++call.spans}`;
    peer.tell(call, 'span', `${head},"phase":"begin","name":${named}${data}${inLane}`);
    let open = true;
    return (outcome) => {
      if (!open) return;
      open = false;
      peer.tell(
        call,
        'span',
        `${head},"phase":"end","name":${named}${member('outcome', outcome, 'ctx.span')}${inLane}`,
      );
    };
  };

  return {
    seq: call.seq,
    call: call.number,
    fn: call.fn,
    now,
    monotonic,
    random,
    randint,
    randbytes,
    sample,
    uuid,
    respond,
    note,
    observe,
    escaped,
    span,
    lane(name) {
      if (typeof name !== 'string') throw new TypeError('ctx.lane(name): the name is not a string');
      return createContext(peer, call, name);
    },
  };
}

function argumentsOf(key, options) {
  if (options === undefined || options === null) return '';
  const { args, kwargs } = options;
  let members = '';
  if (args !== undefined) {
    if (!Array.isArray(args)) throw new TypeError(`ctx.respond(${JSON.stringify(key)}): args is not an array`);
    members += `,"args":${encode(args, `args of ${JSON.stringify(key)}`)}`;
  }
  if (kwargs !== undefined) {
    if (kwargs === null || typeof kwargs !== 'object' || Array.isArray(kwargs)) {
      throw new TypeError(`ctx.respond(${JSON.stringify(key)}): kwargs is not an object`);
    }
    members += `,"kwargs":${encode(kwargs, `kwargs of ${JSON.stringify(key)}`)}`;
  }
  return members;
}

function during(run, end) {
  let value;
  try {
    value = run();
  } catch (error) {
    end('error');
    throw error;
  }
  if (typeof value?.then !== 'function') {
    end('ok');
    return value;
  }
  return value.then(
    (late) => {
      end('ok');
      return late;
    },
    (error) => {
      end('error');
      throw error;
    },
  );
}

function number(value, method) {
  if (typeof value !== 'number') throw new ProtocolError(`the answer to ${method} is not a number`);
  return value;
}

function count(n, what) {
  if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`${what} takes whole numbers from 0, not ${String(n)}`);
}

function text(value, what) {
  if (typeof value !== 'string') throw new TypeError(`${what}: not a string`);
  return JSON.stringify(value);
}

const member = (name, value, what) => (value === undefined ? '' : `,"${name}":${encode(value, what)}`);

const WIDEST = 2 ** 48 - 1; // of crypto.randomInt

function liveInt(low, high) {
  if (high - low < WIDEST) return low === high ? low : randomInt(low, high + 1);
  const span = BigInt(high) - BigInt(low) + 1n;
  return Number(BigInt(low) + (randomBytes(16).readBigUInt64LE() % span));
}

function livePositions(n, k) {
  const drawn = new Set();
  // Floyd's: k draws whatever n is.
  for (let top = n - k; top < n; top++) {
    const at = liveInt(0, top);
    drawn.add(drawn.has(at) ? top : at);
  }
  const positions = [...drawn];
  for (let i = k - 1; i > 0; i--) {
    const j = liveInt(0, i);
    [positions[i], positions[j]] = [positions[j], positions[i]];
  }
  return positions;
}
