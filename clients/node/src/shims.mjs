// The global clock and dice, asked for in the call that is running: Date, performance.now, Math.random and what
// node:crypto draws. Outside of any call, and inside a producer, they are what they were. Put in place once for all
// recorders, taken away with the last of them; what someone else has put over them since stays.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { takeLive } from './live.mjs';
import { doorHere } from './running.mjs';

// When this package is loaded, not when the first call asks.
takeLive();

let users = 0;
let patches = [];

/** Shims the globals. Returns what takes the shims away again, once. */
export function installShims() {
  if (users++ === 0) {
    patches = [...clock(), ...dice()];
    syncBuiltinESMExports();
  }
  let installed = true;
  return () => {
    if (!installed) return;
    installed = false;
    if (--users > 0) return;
    for (const restore of patches.reverse()) restore();
    patches = [];
    syncBuiltinESMExports();
  };
}

const here = () => (users === 0 ? null : (doorHere()?.ctx ?? null));

function patch(target, name, shimOf) {
  const own = Object.getOwnPropertyDescriptor(target, name);
  const real = target[name];
  if (typeof real !== 'function') return () => {};
  const shim = shimOf(real);
  Object.defineProperty(shim, 'name', { value: real.name });
  Object.defineProperty(target, name, {
    value: shim,
    writable: true,
    configurable: true,
    enumerable: own?.enumerable ?? false,
  });
  return () => {
    if (target[name] !== shim) return;
    if (own === undefined) delete target[name];
    else Object.defineProperty(target, name, own);
  };
}

function clock() {
  const RealDate = Date;
  const now = () => {
    const ctx = here();
    return ctx === null ? RealDate.now() : ctx.now();
  };
  function ShimDate(...args) {
    if (new.target === undefined) return new RealDate(now()).toString();
    const of = new.target === ShimDate ? RealDate : new.target;
    return Reflect.construct(RealDate, args.length === 0 ? [now()] : args, of);
  }
  const shimDate = () => {
    // The same prototype: dates of either kind are instances of both.
    ShimDate.prototype = RealDate.prototype;
    Object.defineProperty(ShimDate, 'length', { value: RealDate.length });
    for (const name of ['parse', 'UTC']) {
      Object.defineProperty(ShimDate, name, Object.getOwnPropertyDescriptor(RealDate, name));
    }
    Object.defineProperty(ShimDate, 'now', { value: now, writable: true, configurable: true });
    return ShimDate;
  };
  const constructor = (real) => (real === RealDate ? ShimDate : real);
  return [
    patch(globalThis, 'Date', shimDate),
    patch(RealDate.prototype, 'constructor', constructor),
    patch(performance, 'now', (real) => () => {
      const ctx = here();
      return ctx === null ? real.call(performance) : ctx.monotonic();
    }),
  ];
}

function dice() {
  const web = globalThis.crypto;
  return [
    patch(Math, 'random', (real) => () => {
      const ctx = here();
      return ctx === null ? real() : ctx.random();
    }),
    patch(
      crypto,
      'randomBytes',
      (real) =>
        function randomBytes(size, callback) {
          const ctx = here();
          if (ctx === null || !isSize(size)) return real(size, callback);
          return answer(callback, () => Buffer.from(ctx.randbytes(size)));
        },
    ),
    patch(crypto, 'randomUUID', (real) => (options) => {
      const ctx = here();
      return ctx === null ? real(options) : ctx.uuid();
    }),
    patch(
      crypto,
      'randomInt',
      (real) =>
        function randomInt(...args) {
          const ctx = here();
          const callback = typeof args.at(-1) === 'function' ? args.at(-1) : undefined;
          const bounds = callback === undefined ? args : args.slice(0, -1);
          const [low, end] = bounds.length > 1 && bounds[1] !== undefined ? bounds : [0, bounds[0]];
          if (ctx === null || !Number.isSafeInteger(low) || !Number.isSafeInteger(end) || low >= end)
            return real(...args);
          return answer(callback, () => ctx.randint(low, end - 1));
        },
    ),
    patch(crypto, 'randomFillSync', (real) => (into, ...range) => {
      const ctx = here();
      const bytes = ctx === null ? null : bytesOf(into, ...range);
      if (bytes === null) return real(into, ...range);
      bytes.set(ctx.randbytes(bytes.length));
      return into;
    }),
    patch(crypto, 'randomFill', (real) => (into, ...rest) => {
      const ctx = here();
      const callback = rest.at(-1);
      const bytes = ctx === null ? null : bytesOf(into, ...rest.slice(0, -1));
      if (bytes === null || typeof callback !== 'function') return real(into, ...rest);
      return answer(callback, () => {
        bytes.set(ctx.randbytes(bytes.length));
        return into;
      });
    }),
    ...(web === undefined ? [] : webDice(web)),
  ];
}

function webDice(web) {
  return [
    patch(web, 'getRandomValues', (real) => (into) => {
      const ctx = here();
      const bytes = ctx === null || into?.byteLength > 65536 ? null : bytesOf(into);
      // What it refuses it refuses as ever.
      if (bytes === null || !isIntegers(into)) return real.call(web, into);
      bytes.set(ctx.randbytes(bytes.length));
      return into;
    }),
    patch(web, 'randomUUID', (real) => () => {
      const ctx = here();
      return ctx === null ? real.call(web) : ctx.uuid();
    }),
  ];
}

const MOST_BYTES = 1 << 20; // of one draw

const isSize = (size) => Number.isSafeInteger(size) && size >= 0 && size <= MOST_BYTES;

const isIntegers = (into) => ArrayBuffer.isView(into) && !/^(Float|DataView)/.test(into.constructor.name);

// The part of a buffer that is to be filled, in units of its elements; null where the real one shall say what is wrong.
function bytesOf(into, offset = 0, size = undefined) {
  if (!ArrayBuffer.isView(into) && !(into instanceof ArrayBuffer)) return null;
  const unit = into.BYTES_PER_ELEMENT ?? 1;
  const start = offset * unit;
  const length = size === undefined ? into.byteLength - start : size * unit;
  if (!isSize(start) || !isSize(length) || start + length > into.byteLength) return null;
  return ArrayBuffer.isView(into)
    ? new Uint8Array(into.buffer, into.byteOffset + start, length)
    : new Uint8Array(into, start, length);
}

function answer(callback, draw) {
  if (typeof callback !== 'function') return draw();
  let drawn;
  try {
    drawn = draw();
  } catch (error) {
    process.nextTick(callback, error);
    return undefined;
  }
  process.nextTick(callback, null, drawn);
  return undefined;
}
