// What a handler is given: the clock, chance and the outside world, each through the daemon, or live and written down
// where the application is the host itself. A handler may take the functions out of the object
// (`const { now, respond } = ctx`), so they hold on to what they need themselves.
import { ProtocolError } from './errors.mjs';
import { liveBytes, liveInt, liveMonotonic, liveNow, livePositions, liveRandom } from './live.mjs';
import { DOOR } from './running.mjs';

/**
 * The context of one call; `lane` names a task whose questions have an order of their own, or is null. `peer` answers
 * for it: `isLive(call)`, and where that is false ask(call, method, rest, live), askPlain() likewise for what
 * windows may hold, respond(call, key, produce, rest), tell(call, method, rest) and encode(value, what).
 */
export function createContext(peer, call, lane) {
  const inLane = lane === null ? '' : `,"lane":${JSON.stringify(lane)}`;

  const now = () => (peer.isLive(call) ? liveNow() : number(peer.askPlain(call, 'now', inLane, liveNow), 'now'));

  const monotonic = () =>
    peer.isLive(call)
      ? liveMonotonic()
      : number(peer.ask(call, 'now', `,"clock":"monotonic"${inLane}`, liveMonotonic), 'now');

  const random = () =>
    peer.isLive(call) ? liveRandom() : number(peer.askPlain(call, 'random', inLane, liveRandom), 'random');

  const randint = (low, high) => {
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high))
      throw new TypeError('ctx.randint(low, high) takes two safe integers');
    if (low > high) throw new RangeError(`ctx.randint(${low}, ${high}): low is above high`);
    const live = () => liveInt(low, high);
    if (peer.isLive(call)) return live();
    return number(peer.ask(call, 'random', `,"draw":"int","low":${low},"high":${high}${inLane}`, live), 'random');
  };

  const randbytes = (n) => {
    count(n, 'ctx.randbytes(n)');
    if (peer.isLive(call)) return liveBytes(n);
    const live = () => liveBytes(n).toString('hex');
    const hex = peer.ask(call, 'random', `,"draw":"bytes","n":${n}${inLane}`, live);
    if (typeof hex !== 'string' || hex.length !== 2 * n)
      throw new ProtocolError(`the answer to random is not ${n} bytes in hex`);
    return Buffer.from(hex, 'hex');
  };

  const sample = (population, k) => {
    const n = typeof population === 'number' ? population : population.length;
    count(n, 'ctx.sample(population, k)');
    count(k, 'ctx.sample(population, k)');
    if (k > n) throw new RangeError(`ctx.sample: ${k} of ${n}`);
    const live = () => livePositions(n, k);
    const positions = peer.isLive(call)
      ? live()
      : peer.ask(call, 'random', `,"draw":"sample","n":${n},"k":${k}${inLane}`, live);
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
      if (peer.isLive(call)) return new Promise((resolve) => resolve(produce()));
      const named = JSON.stringify(key);
      const rest = `,"key":${named}${argumentsOf(peer, call, named, options)}${inLane}`;
      return peer.respond(call, key, produce, rest);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  const note = (name, data) => {
    const named = text(name, 'ctx.note(name, data)');
    // Said inside a producer it would be said on record only.
    if (peer.isLive(call)) return;
    peer.tell(call, 'note', `,"name":${named}${member(peer, call, 'data', data, 'ctx.note')}${inLane}`);
  };

  const observe = (name, value, at) => {
    const where = at === undefined ? '' : `,"at":${text(at, 'ctx.observe(name, value, at)')}`;
    const named = text(name, 'ctx.observe(name, value)');
    if (peer.isLive(call)) return;
    peer.tell(call, 'observe', `,"name":${named},"value":${peer.encode(value, 'ctx.observe', call)}${where}`);
  };

  const escaped = (key, where) => {
    const place = where === undefined ? '' : `,"where":${text(where, 'ctx.escaped(key, where)')}`;
    if (!peer.isLive(call)) peer.tell(call, 'escaped', `,"key":${text(key, 'ctx.escaped(key)')}${place}`);
  };

  const span = (name, data, run) => {
    if (typeof data === 'function' && run === undefined) return span(name, undefined, data);
    const named = text(name, 'ctx.span(name, data, run)');
    const end = peer.isLive(call)
      ? () => {}
      : begin(peer, call, named, member(peer, call, 'data', data, 'ctx.span'), inLane);
    return run === undefined ? { end } : during(run, end);
  };

  const context = {
    // No getter: one in a literal costs more than all the rest of this. A computed name is not cheap either.
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
  context[DOOR] = call.door;
  return context;
}

// A span's beginning is said; what comes back says its end, once.
function begin(peer, call, named, data, inLane) {
  const head = `,"sid":${++call.spans}`;
  peer.tell(call, 'span', `${head},"phase":"begin","name":${named}${data}${inLane}`);
  let open = true;
  return (outcome) => {
    if (!open) return;
    open = false;
    const said = member(peer, call, 'outcome', outcome, 'ctx.span');
    peer.tell(call, 'span', `${head},"phase":"end","name":${named}${said}${inLane}`);
  };
}

const member = (peer, call, name, value, what) =>
  value === undefined ? '' : `,"${name}":${peer.encode(value, what, call)}`;

function argumentsOf(peer, call, named, options) {
  if (options === undefined || options === null) return '';
  const { args, kwargs } = options;
  let members = '';
  if (args !== undefined) {
    if (!Array.isArray(args)) throw new TypeError(`ctx.respond(${named}): args is not an array`);
    members += `,"args":${peer.encode(args, `args of ${named}`, call)}`;
  }
  if (kwargs !== undefined) {
    if (kwargs === null || typeof kwargs !== 'object' || Array.isArray(kwargs)) {
      throw new TypeError(`ctx.respond(${named}): kwargs is not an object`);
    }
    members += `,"kwargs":${peer.encode(kwargs, `kwargs of ${named}`, call)}`;
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
