// What an attached recorder writes of a call, and that the application does not notice.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { Forbidden, HandlerError, attach, wrap } from '../index.mjs';
import { callsOf, framesOf, serving } from './serving.mjs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'playhead-attach-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
let logs = 0;
const newLog = () => path.join(folder, `log${++logs}`);

const warnings = [];
process.on('warning', (warning) => warnings.push(warning));

async function until(holds) {
  const deadline = Date.now() + 20_000;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error('it did not come to pass');
    await wait(5);
  }
}

/** Runs `script(recorder)`, closes the recorder, and gives the calls that the daemon has read. */
async function recorded(script, options = {}, modes = []) {
  const log = newLog();
  const recorder = attach({ daemon: serving(log, ...modes), out: folder, ...options });
  let closed;
  try {
    await script(recorder);
  } finally {
    closed = await recorder.close();
  }
  return Object.assign(callsOf(log), { log, closed, stats: recorder.stats() });
}

/** One call of `handler` with `event`: what the daemon has read of it, and how it went. */
async function one(handler, event, options = {}) {
  let outcome;
  const calls = await recorded(async (recorder) => {
    try {
      outcome = { value: await recorder.wrap('f', handler)(event) };
    } catch (error) {
      outcome = { error };
    }
  }, options);
  assert.equal(calls.length, 1);
  return { ...calls[0], outcome };
}

const asksOf = (call) =>
  call.asks.map(([method, { ask, key }]) => [method, ask, key].filter((one) => one !== undefined).join(' '));

test('a call as it happens: begin, asks and answers, end', async () => {
  const { outcome, ...call } = await one(
    async (event, ctx) => {
      const value = await ctx.respond('account', async () => ({ balance: 3 }), {
        args: [event.user],
        kwargs: { at: 1 },
      });
      return { value, seq: ctx.seq, fn: ctx.fn };
    },
    { user: 'u1' },
  );
  assert.deepEqual(outcome.value, { value: { balance: 3 }, seq: 0, fn: 'f' });
  assert.deepEqual(call, {
    call: 1,
    seq: 0,
    fn: 'f',
    event: { user: 'u1' },
    asks: [
      ['respond', { ask: 0, key: 'account', args: ['u1'], kwargs: { at: 1 } }],
      ['respond.settle', { ask: 0, value: { balance: 3 } }],
    ],
    output: { value: { balance: 3 }, seq: 0, fn: 'f' },
  });
});

test('every clock and draw is live, and written down', async () => {
  const before = Date.now();
  const { outcome, asks } = await one((event, { now, monotonic, random, randint, randbytes, sample, uuid }) => [
    now(),
    monotonic(),
    random(),
    randint(-3, 9),
    randbytes(3).toString('hex'),
    sample(['a', 'b', 'c'], 2),
    uuid(),
  ]);
  const [at, mono, float, int, bytes, items, uuid] = outcome.value;
  assert.ok(at >= before && at <= Date.now());
  const drawn = asks.map(([method, params]) => [method, params]);
  assert.deepEqual(drawn.slice(0, 5), [
    ['now', { ask: 0, value: at }],
    ['now', { ask: 1, clock: 'monotonic', value: mono }],
    ['random', { ask: 2, value: float }],
    ['random', { ask: 3, draw: 'int', low: -3, high: 9, value: int }],
    ['random', { ask: 4, draw: 'bytes', n: 3, value: bytes }],
  ]);
  const { value: positions, ...sampled } = drawn[5][1];
  assert.deepEqual(sampled, { ask: 5, draw: 'sample', n: 3, k: 2 });
  assert.deepEqual(
    items,
    positions.map((at) => 'abc'[at]),
  );
  assert.equal(drawn[6][1].n, 16);
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('values and errors are the very ones', async () => {
  const answer = new Map([[1, 2]]);
  const event = { socket: answer };
  const failure = Object.assign(new TypeError('no'), { code: 'ENO' });
  const output = { at: new Date(5) };
  await recorded(async (recorder) => {
    const seen = {};
    const f = recorder.wrap('f', async function (given, ctx) {
      seen.self = this;
      seen.event = given;
      seen.answer = await ctx.respond('a', () => answer);
      seen.failure = await ctx.respond('b', async () => Promise.reject(failure)).catch((error) => error);
      return output;
    });
    const self = { f };
    assert.equal(await self.f(event), output);
    assert.equal(seen.self, self);
    assert.equal(seen.event, event);
    assert.equal(seen.answer, answer);
    assert.equal(seen.failure, failure);
    assert.equal(recorder.wrap('g', () => output)(null), output);
    const thrown = recorder.wrap('h', () => {
      throw failure;
    });
    assert.throws(thrown, (error) => error === failure);
    await assert.rejects(recorder.wrap('i', async () => Promise.reject(failure))(null), (error) => error === failure);
  });
});

test('errors: type, message and plain fields of an answer, type and message of a call', async () => {
  const failure = Object.assign(new TypeError('no'), { code: 'ENO' });
  const { asks, raised } = await one(async (event, ctx) => {
    await ctx.respond('a', () => Promise.reject(failure)).catch(() => {});
    throw new HandlerError('Declined', 'too much', { args: [1], data: { limit: 5 } });
  });
  assert.deepEqual(asks[1], [
    'respond.settle',
    { ask: 0, error: { type: 'TypeError', message: 'no', data: { code: 'ENO' } } },
  ]);
  assert.deepEqual(raised, { type: 'Declined', message: 'too much', args: [1], data: { limit: 5 } });
});

test('what is written is what was there then, whatever becomes of it', async () => {
  const event = { items: [1] };
  const answer = { n: 1 };
  const args = [[1]];
  const call = await one(async (given, ctx) => {
    given.items.push(2);
    const asked = ctx.respond('a', async () => answer, { args });
    args[0].push(2);
    (await asked).n = 2;
    const output = { n: 1 };
    setImmediate(() => (output.n = 2));
    return output;
  }, event);
  assert.deepEqual(call.event, { items: [1] });
  assert.deepEqual(call.asks, [
    ['respond', { ask: 0, key: 'a', args: [[1]] }],
    ['respond.settle', { ask: 0, value: { n: 1 } }],
  ]);
  assert.deepEqual(call.output, { n: 1 });
});

const cyclic = { n: 1 };
cyclic.self = cyclic;
const graph = Array.from({ length: 40 }, () => ({ others: [], f() {} }));
for (const node of graph) node.others.push(...graph);

const WRITTEN = {
  'JSON is exact': [{ a: [1, 'x', null, true] }, { a: [1, 'x', null, true] }, false],
  'undefined is null': [undefined, null, false],
  'minus nought is nought': [-0, 0, false],
  NaN: [[NaN], [null], true],
  'a member that is undefined': [{ a: undefined, b: 1 }, { b: 1 }, true],
  'a date': [{ at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }, true],
  'a date that is none': [new Date(NaN), null, true],
  'a bigint keeps its digits': [2n ** 53n, 2 ** 53, true],
  'a map': [new Map([['a', new Set([1])]]), { a: [1] }, true],
  'a map of things': [new Map([[1, 2]]), [[1, 2]], true],
  bytes: [Buffer.from('ab'), '6162', true],
  'an error': [new RangeError('far'), { type: 'RangeError', message: 'far' }, true],
  'a function and a symbol': [{ f() {}, s: Symbol('s') }, {}, true],
  'a cycle': [cyclic, { n: 1, self: null }, true],
  'a toJSON': [{ at: { toJSON: () => 'here' } }, { at: 'here' }, true],
  'a getter that throws': [
    {
      a: 1,
      get b() {
        throw new Error('b');
      },
    },
    null,
    true,
  ],
  'a graph that is too large': [graph, null, true],
};

for (const [name, [value, written, lossy]] of Object.entries(WRITTEN)) {
  test(`written: ${name}`, async () => {
    const expected = lossy ? { lossy } : {};
    const answered = await one(async (event, ctx) => void (await ctx.respond('a', () => value)));
    assert.deepEqual(answered.asks[1], ['respond.settle', { ask: 0, value: written, ...expected }]);
    const { output, lossy: said } = await one(() => value);
    assert.deepEqual([output, said ?? false], [written, lossy]);
    const { outcome, event } = await one((given) => given === value, value);
    assert.deepEqual([outcome.value, event], [true, written]);
  });
}

test('an event that is not exact is said to be', async () => {
  const { log } = await recorded((recorder) => recorder.wrap('f', () => 1)({ at: new Date(0) }));
  assert.equal(framesOf(log).find(({ method }) => method === 'call.begin').params.lossy, true);
});

test('asks of several turns are sent as they happen', async () => {
  const { log } = await recorded(async (recorder) => {
    let goOn;
    const f = recorder.wrap('f', async (event, ctx) => {
      for (let i = 0; i < 3; i++) await ctx.respond(`k${i}`, () => turn(i));
      await ctx.respond('last', () => new Promise((resolve) => (goOn = resolve)));
      return ctx.now();
    });
    const running = f(null);
    await until(() => callsOf(log0()).some((call) => call.asks.length === 7));
    goOn(4);
    await running;
  });
  const [call] = callsOf(log);
  assert.equal(call.asks.length, 9);
  assert.equal('output' in call, true);
  assert.ok(framesOf(log).filter(({ method }) => method === 'asked').length > 1);
});

const log0 = () => path.join(folder, `log${logs}`);

test('two calls at once never mix, with a context or without', async () => {
  const kv = wrap({ read: (key) => wait(Math.random() * 4, key) }, ['read'], { prefix: 'kv' });
  const calls = await recorded(async (recorder) => {
    const f = recorder.wrap('f', async (event, ctx) => {
      const read = [];
      for (let i = 0; i < 5; i++) {
        read.push(await kv.read(`${event}-${i}`));
        await ctx.respond(`own-${event}`, () => wait(Math.random() * 2));
      }
      return read;
    });
    await Promise.all(Array.from({ length: 20 }, (_, n) => f(n)));
  });
  assert.equal(calls.length, 20);
  for (const { event, asks, output } of calls) {
    assert.deepEqual(
      output,
      [0, 1, 2, 3, 4].map((i) => `${event}-${i}`),
    );
    const keys = asks.filter(([method]) => method === 'respond').map(([, { key, args }]) => args?.[0] ?? key);
    assert.deepEqual(
      keys,
      output.flatMap((key) => [key, `own-${event}`]),
    );
    assert.deepEqual(
      asks.filter(([method]) => method === 'respond').map(([, { ask }]) => ask),
      keys.map((_, n) => n),
    );
  }
});

test('what a producer asks is live and off the tape', async () => {
  const kv = wrap({ read: async (key) => key }, ['read']);
  const call = await one(async (event, ctx) => {
    await ctx.respond('a', async () => [
      ctx.now(),
      ctx.random(),
      await kv.read('x'),
      await ctx.respond('b', () => 1),
      ctx.note('n'),
    ]);
    return ctx.span('s', () => 2);
  });
  assert.deepEqual(asksOf(call), ['respond 0 a', 'respond.settle 0', 'span', 'span']);
});

test('spans, notes and observations, with a context or without', async () => {
  const calls = await recorded(async (recorder) => {
    const f = recorder.wrap('f', async (event, ctx) => {
      ctx.note('seen', { at: new Date(0) });
      await ctx.span('outer', { n: 1 }, async () => ctx.lane('left').note('in'));
      recorder.note('free');
      recorder.observe('level', 3, 'here');
      return recorder.span('inner', () => recorder.span('deep', { n: 2 }, () => 7));
    });
    assert.equal(await f(null), 7);
    // Outside of any call all of it does nothing.
    recorder.note('nowhere');
    recorder.observe('nowhere', 1);
    recorder.span('nowhere').end();
    assert.equal(
      recorder.span('nowhere', () => 8),
      8,
    );
  });
  assert.deepEqual(calls[0].asks, [
    ['note', { name: 'seen', data: { at: '1970-01-01T00:00:00.000Z' } }],
    ['span', { sid: 1, phase: 'begin', name: 'outer', data: { n: 1 } }],
    ['note', { name: 'in', lane: 'left' }],
    ['span', { sid: 1, phase: 'end', name: 'outer', outcome: 'ok' }],
    ['note', { name: 'free' }],
    ['observe', { name: 'level', value: 3, at: 'here' }],
    ['span', { sid: 2, phase: 'begin', name: 'inner' }],
    ['span', { sid: 3, phase: 'begin', name: 'deep', data: { n: 2 } }],
    ['span', { sid: 3, phase: 'end', name: 'deep', outcome: 'ok' }],
    ['span', { sid: 2, phase: 'end', name: 'inner', outcome: 'ok' }],
  ]);
});

test('a wrapped call inside a call belongs to the outer one', async () => {
  const calls = await recorded(async (recorder) => {
    const inner = recorder.wrap('inner', (event, ctx) => ctx.respond('a', () => ctx.seq));
    const tool = recorder.tool('tool', (n) => n + 1);
    const outer = recorder.wrap('outer', async (event, ctx) => [await inner(1), await inner(1, ctx), tool(1)]);
    assert.deepEqual(await outer(null), [0, 0, 2]);
  });
  assert.deepEqual(
    calls.map(({ fn }) => fn),
    ['outer'],
  );
  assert.deepEqual(asksOf(calls[0]), ['respond 0 a', 'respond.settle 0', 'respond 1 a', 'respond.settle 1']);
});

test('what goes on after the end of its call goes on live, and is not written', async () => {
  let late;
  const calls = await recorded(async (recorder) => {
    const kv = wrap({ read: async (key) => key }, ['read']);
    const f = recorder.wrap('f', async (event, ctx) => {
      const open = ctx.respond('open', () => wait(10, 'slow'));
      late = (async () => {
        await wait(5);
        return [await kv.read('x'), await ctx.respond('a', () => 1), typeof ctx.now(), ctx.note('n'), await open];
      })();
      return 'early';
    });
    assert.equal(await f(null), 'early');
    assert.deepEqual(await late, ['x', 1, 'number', undefined, 'slow']);
  });
  assert.deepEqual(asksOf(calls[0]), ['respond 0 open']);
});

test('answers of one turn are handed over one by one, each when all that the last has woken has run', async () => {
  const steps = [];
  const call = await one(async (event, ctx) => {
    let both;
    const gate = new Promise((resolve) => (both = resolve));
    const chain = async (name) => {
      await ctx.respond(name, () => gate);
      for (let i = 0; i < 3; i++) {
        steps.push(`${name}${i}`);
        ctx.random();
        await null;
      }
    };
    const chains = [chain('a'), chain('b'), chain('c')];
    setImmediate(both);
    await Promise.all(chains);
  });
  assert.deepEqual(steps, ['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'c0', 'c1', 'c2']);
  const told = asksOf(call).filter((ask) => !ask.startsWith('respond '));
  const chain = (n) => [`respond.settle ${n}`, ...[0, 1, 2].map((i) => `random ${3 + 3 * n + i}`)];
  assert.deepEqual(told, [0, 1, 2].flatMap(chain));
});

test('a rejection that nobody handles is still one', async () => {
  const unhandled = [];
  const listen = (reason) => unhandled.push(reason.message);
  const before = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', listen);
  try {
    await recorded(async (recorder) => {
      const kv = wrap({ read: async () => Promise.reject(new Error('effect')) }, ['read']);
      void recorder.wrap('f', async (event, ctx) => {
        void kv.read('x');
        void ctx.respond('a', async () => Promise.reject(new Error('respond')));
        throw new Error('call');
      })(null);
      await turn();
    });
  } finally {
    process.off('unhandledRejection', listen);
    before.forEach((listener) => process.on('unhandledRejection', listener));
  }
  assert.deepEqual(unhandled.sort(), ['call', 'effect', 'respond']);
});

// Gates

test('a call that the gate keeps out is not recorded, and starts no daemon', async () => {
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', (event, ctx) => [ctx.seq, ctx.fn, typeof ctx.now()]);
      assert.deepEqual(f({ user: 'u2' }), [0, 'f', 'number']);
      assert.deepEqual(f({ user: 'u3' }), [1, 'f', 'number']);
    },
    { gate: { where: { '/user': 'u1' } } },
  );
  assert.equal(fs.existsSync(calls.log), false);
  assert.equal(calls.closed, null);
});

test('the gate of the daemon holds for calls that began before it was known', async () => {
  const gate = { functions: ['yes'] };
  const calls = await recorded(
    async (recorder) => {
      const yes = recorder.wrap('yes', (event, ctx) => ctx.now());
      const no = recorder.wrap('no', (event, ctx) => ctx.now());
      for (let i = 0; i < 3; i++) [yes(i), no(i)];
      const slow = recorder.wrap('no', async (event, ctx) => [await ctx.respond('a', () => wait(200, 1)), ctx.now()]);
      const running = slow(9);
      await until(() => recorder.stats().path !== null);
      [yes(3), no(3)];
      await running;
      assert.deepEqual(
        { ...recorder.stats(), queuedBytes: 0, path: 0 },
        { recording: true, calls: 4, open: 0, dropped: {}, queuedBytes: 0, path: 0 },
      );
    },
    {},
    [`gate=${JSON.stringify(gate)}`, 'late=50'],
  );
  assert.deepEqual(
    calls.map(({ fn, event, seq }) => [fn, event, seq]),
    [
      ['yes', 0, 0],
      ['yes', 1, 2],
      ['yes', 2, 4],
      ['yes', 3, 7],
    ],
  );
});

test('off means off', async () => {
  const log = newLog();
  const recorder = attach({ daemon: serving(log), out: folder, enabled: false });
  const kv = wrap({ read: (key) => key }, ['read']);
  const f = recorder.wrap('f', (event, ctx) => [kv.read(event), ctx.seq, typeof ctx.random()]);
  assert.deepEqual(f('x'), ['x', 0, 'number']);
  const { now } = Date;
  recorder.shim();
  assert.equal(Date.now, now);
  assert.deepEqual(recorder.stats(), { recording: false, calls: 0, open: 0, dropped: {}, queuedBytes: 0, path: null });
  assert.equal(await recorder.close(), null);
  assert.equal(fs.existsSync(log), false);
});

// Traces

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const OTHER = '00-6e340b9cffb37a989ca544e6bb780a2c-00f067aa0ba902b7-00';

test('the traceparent of the surroundings goes onto the call', async () => {
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async () => turn());
      await recorder.withTraceparent(TRACE, async () => {
        await turn();
        await f(1);
      });
      await f(2);
      await recorder.withTraceparent('nonsense', () => f(3));
      assert.equal(
        recorder.withTraceparent(OTHER, () => 5),
        5,
      );
    },
    { traceparent: (fn, event) => (event === 2 ? OTHER : undefined) },
  );
  assert.deepEqual(
    calls.map(({ traceparent }) => traceparent),
    [TRACE, OTHER, undefined],
  );
});

test('the active span of OpenTelemetry is a surrounding', async () => {
  const key = Symbol.for('opentelemetry.js.api.1');
  const span = { spanContext: () => ({ traceId: TRACE.slice(3, 35), spanId: TRACE.slice(36, 52), traceFlags: 1 }) };
  globalThis[key] = { context: { active: () => ({ getValue: () => span }) } };
  try {
    const { traceparent } = await one(() => 1);
    assert.equal(traceparent, TRACE);
  } finally {
    delete globalThis[key];
  }
});

test('a sample of traces is the same wherever they are seen', async () => {
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', () => 1);
      for (let i = 0; i < 5; i++) recorder.withTraceparent(TRACE, () => f(i)); // its share is 0.22
      for (let i = 0; i < 5; i++) recorder.withTraceparent(OTHER, () => f(i)); // 0.45
    },
    { gate: { sample: 0.3 } },
  );
  assert.deepEqual(
    calls.map(({ traceparent }) => traceparent),
    Array(5).fill(TRACE),
  );
});

// Tools

test('a tool has its arguments by name where it is given one plain object, else by position', async () => {
  const calls = await recorded(async (recorder) => {
    const tool = recorder.tool('t', function named(...args) {
      return args.length;
    });
    assert.deepEqual([tool.name, tool.length], ['named', 0]);
    for (const args of [[{ user: 'u1' }], [], [1, 'b'], [[1]], [{ args: [1] }], [null], [new Date(0)]]) tool(...args);
  });
  assert.deepEqual(
    calls.map(({ event }) => event),
    [
      { user: 'u1' },
      { args: [] },
      { args: [1, 'b'] },
      { args: [[1]] },
      { args: [{ args: [1] }] },
      { args: [null] },
      { args: ['1970-01-01T00:00:00.000Z'] },
    ],
  );
});

// Queue and limits

test('a daemon that does not read stops nothing: whole calls are dropped and counted', async () => {
  const big = 'x'.repeat(4000);
  let stats;
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async (event, ctx) => {
        const value = await ctx.respond('a', async () => big);
        await turn();
        return value;
      });
      await f(0);
      await until(() => recorder.stats().path !== null);
      for (let i = 1; i < 300; i++) assert.equal(await f(i), big);
      stats = recorder.stats();
    },
    { queueBytes: 100_000, exitMs: 100 },
    ['deaf'],
  );
  assert.ok(stats.dropped.queue > 100, JSON.stringify(stats));
  assert.equal(stats.calls + stats.dropped.queue, 300);
  assert.ok(stats.queuedBytes <= 110_000, String(stats.queuedBytes));
  assert.equal(stats.open, 0);
  assert.equal(calls.closed, null);
  process.kill(Number(fs.readFileSync(`${calls.log}.pid`, 'utf8')));
});

test('a call that has begun is dropped with a word, and nothing comes after it', async () => {
  let dropped;
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async (event, ctx) => {
        ctx.note('first');
        await until(() => recorder.stats().queuedBytes === 0);
        const value = await ctx.respond('a', async () => 'x'.repeat(event));
        ctx.note('more');
        return value.length;
      });
      await f(1);
      await until(() => recorder.stats().path !== null);
      assert.equal(await f(5000), 5000);
      assert.equal(await f(2), 2);
      dropped = recorder.stats().dropped;
    },
    { queueBytes: 3000 },
  );
  assert.deepEqual(dropped, { queue: 1 });
  assert.deepEqual(
    calls.map(({ dropped, output }) => [dropped, output]),
    [
      [undefined, 1],
      ['queue', undefined],
      [undefined, 2],
    ],
  );
  assert.deepEqual(asksOf(calls[1]), ['note']);
  const { params } = framesOf(calls.log).find(({ method }) => method === 'session.close');
  assert.deepEqual(params, { session: 7, dropped: {} });
});

test('calls of which the daemon knows nothing are told at the end', async () => {
  const calls = await recorded(
    async (recorder) => {
      assert.equal(recorder.wrap('f', (event) => event.length)('x'.repeat(5000)), 5000);
      recorder.wrap('f', () => 1)('small');
    },
    { queueBytes: 2000 },
  );
  assert.deepEqual(
    calls.map(({ event }) => event),
    ['small'],
  );
  const { params } = framesOf(calls.log).find(({ method }) => method === 'session.close');
  assert.deepEqual(params.dropped, { queue: 1 });
});

test('durability "call": one frame, when the call has ended', async () => {
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async (event, ctx) => {
        await ctx.respond('a', () => turn(1));
        await turn();
        ctx.note('n');
        return event;
      });
      await f(1);
      await until(() => recorder.stats().path !== null);
      await Promise.all([f(2), f(3)]);
      void recorder.wrap('g', () => new Promise(() => {}))(4);
      await turn();
    },
    { durability: 'call' },
  );
  assert.deepEqual(
    calls.map(({ output }) => output),
    [1, 2, 3],
  );
  assert.deepEqual(asksOf(calls[2]), ['respond 0 a', 'respond.settle 0', 'note']);
  const methods = framesOf(calls.log).map(({ method }) => method);
  assert.deepEqual(
    methods.filter((method) => method.startsWith('call') || method === 'asked'),
    ['call', 'call', 'call'],
  );
});

// Daemons that are none

const BROKEN = {
  'is not there': [['/nowhere/playhead', 'serve'], /nothing is recorded: .*ENOENT/],
  'ends at once': [
    [process.execPath, '-e', 'console.error("No module named playhead"); process.exit(1)'],
    /it ended with 1: No module named playhead/,
  ],
  'speaks another language': [
    [process.execPath, '-e', 'console.log("Usage: ..."); setTimeout(() => {}, 1e6)'],
    /does not speak the protocol/,
  ],
};

for (const [name, [daemon, warning]] of Object.entries(BROKEN)) {
  test(`a daemon that ${name}: handlers run, with one warning`, async () => {
    warnings.length = 0;
    await recorded(
      async (recorder) => {
        const f = recorder.wrap('f', async (event, ctx) => [
          event,
          await ctx.respond('a', () => turn(2)),
          typeof ctx.now(),
        ]);
        for (let i = 0; i < 3; i++) assert.deepEqual(await f(1), [1, 2, 'number']);
        await until(() => !recorder.stats().recording);
        assert.deepEqual(await f(1), [1, 2, 'number']);
        await turn();
        assert.equal(recorder.stats().queuedBytes, 0);
      },
      { daemon },
    );
    assert.equal(warnings.length, 1, String(warnings));
    assert.match(warnings[0].message, warning);
    assert.equal(warnings[0].name, 'PlayheadWarning');
  });
}

test('a session that is refused is said why', async () => {
  warnings.length = 0;
  await recorded(
    async (recorder) => {
      recorder.wrap('f', () => 1)(1);
      await until(() => !recorder.stats().recording);
      await turn();
    },
    {},
    ['refuse=out exists already'],
  );
  assert.match(warnings[0].message, /nothing is recorded: .*out exists already/);
});

test('after a daemon has died another one is started, and no call is half taped', async () => {
  warnings.length = 0;
  const calls = await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async (event, ctx) => [event, await ctx.respond('a', () => turn(2))]);
      const sessions = () => framesOf(log0()).filter(({ method }) => method === 'session.open').length;
      let running = true;
      const after = recorder.wrap('g', async (event, ctx) => {
        while (running) await ctx.respond('b', () => wait(5));
        return 'whole';
      })(0);
      for (let i = 0; sessions() < 2; i++) assert.deepEqual(await f(i), [i, 2]);
      running = false;
      assert.equal(await after, 'whole');
    },
    {},
    ['die=40'],
  );
  assert.deepEqual(
    warnings.map(({ message }) => /recording was interrupted: .*it ended with 3/.test(message)),
    [true],
  );
  assert.ok(calls.stats.dropped.fault >= 1);
});

test('a tape that was named is not begun twice', async () => {
  const log = newLog();
  const recorder = attach({ daemon: serving(log, 'die=3'), out: path.join(folder, 'one.jsonl') });
  recorder.wrap('f', () => 1)(1);
  await until(() => !recorder.stats().recording);
  assert.equal(await recorder.close(), null);
});

test('what the policy forbids is told', async () => {
  const told = [];
  const calls = await recorded(
    async (recorder) => {
      recorder.wrap('f', () => 1)(1);
      await until(() => told.length > 0);
      assert.deepEqual(recorder.stats().dropped, { forbid: 1 });
    },
    { onForbid: (what) => told.push(what) },
    ['forbid'],
  );
  assert.deepEqual(told, [{ call: 1 }]);
  assert.equal(calls.length, 1);
});

test('onForbid "raise": the call fails, when the policy has been heard', async () => {
  await recorded(
    async (recorder) => {
      const f = recorder.wrap('f', async () => 1);
      await assert.rejects(f(1), Forbidden);
      assert.equal(await f(2), 1);
    },
    { onForbid: 'raise' },
    ['forbid'],
  );
});

const REFUSED = {
  'a gate that is none': { gate: 5 },
  'a gate with a pointer that is none': { gate: { where: { user: 1 } } },
  'a daemon that is no command': { daemon: 'playhead serve' },
  'no room': { queueBytes: 0 },
  'a durability that there is not': { durability: 'never' },
  'nothing to do about forbid': { onForbid: 'ignore' },
  'nowhere to write': { out: '' },
};

for (const [name, options] of Object.entries(REFUSED)) {
  test(`refused when it is attached: ${name}`, () => assert.throws(() => attach(options), TypeError));
}

test('options travel with the session', async () => {
  const { log } = await recorded((recorder) => recorder.wrap('f', () => 1)(1), {
    constants: { 'config.LIMIT': 5, at: new Date(0) },
    name: 'billing',
    policy: 'playhead.toml',
  });
  const { params } = framesOf(log).find(({ method }) => method === 'session.open');
  assert.deepEqual(params, {
    mode: 'record',
    out: folder,
    constants: { 'config.LIMIT': 5, at: '1970-01-01T00:00:00.000Z' },
    name: 'billing',
    policy: path.resolve('playhead.toml'),
  });
});
