// Doors for code without a context: transparent outside of calls, asks inside, answered from the tape under a host.
import assert from 'node:assert/strict';
import crypto, { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { attach, wrap } from '../index.mjs';
import { file, recording, withHost } from './daemon.mjs';
import { callsOf, serving } from './serving.mjs';

const warnings = [];
process.on('warning', (warning) => warnings.push(warning.message));

/** What the daemon reads of one call of `run(recorder)`, and what that gave. */
async function recorded(run, prepare = () => {}) {
  const log = file('', '.log');
  fs.rmSync(log);
  const recorder = attach({ daemon: serving(log), out: '/nowhere' });
  let value;
  try {
    await prepare(recorder);
    value = await recorder.tool('t', () => run(recorder))();
  } finally {
    await recorder.close();
  }
  const [call] = callsOf(log);
  return { value, asks: call.asks, output: call.output, lossy: call.lossy };
}

class Store {
  #values = new Map([['a', { n: 1 }]]);
  name = 'store';

  async read(key) {
    if (!this.#values.has(key)) throw Object.assign(new RangeError(`no ${key}`), { code: 'ENOKEY' });
    return this.#values.get(key);
  }

  readSync(key) {
    if (!this.#values.has(key)) throw new RangeError(`no ${key}`);
    return this.#values.get(key);
  }

  size() {
    return this.#values.size;
  }

  readTwice(key) {
    return Promise.all([this.read(key), this.read(key)]);
  }

  connect() {
    return this;
  }

  get keys() {
    return [...this.#values.keys()];
  }
}

const storeOf = (sync) => wrap(new Store(), ['read', 'readSync', 'size'], { prefix: 'kv', sync });

test('methods ask, whatever is theirs', async () => {
  const kv = storeOf(['size']);
  const { asks } = await recorded(async () => {
    const value = await kv.read('a');
    assert.equal(kv.readSync('a'), value);
    assert.equal(kv.size(), 1);
    await assert.rejects(kv.read('b'), { name: 'RangeError', code: 'ENOKEY' });
    assert.throws(() => kv.readSync('b'), RangeError);
  });
  assert.deepEqual(asks, [
    ['respond', { ask: 0, key: 'kv.read', args: ['a'] }],
    ['respond.settle', { ask: 0, value: { n: 1 } }],
    ['respond', { ask: 1, key: 'kv.readSync', args: ['a'] }],
    ['respond.settle', { ask: 1, value: { n: 1 } }],
    ['respond', { ask: 2, key: 'kv.size' }],
    ['respond.settle', { ask: 2, value: 1 }],
    ['respond', { ask: 3, key: 'kv.read', args: ['b'] }],
    ['respond.settle', { ask: 3, error: { type: 'RangeError', message: 'no b', data: { code: 'ENOKEY' } } }],
    ['respond', { ask: 4, key: 'kv.readSync', args: ['b'] }],
    ['respond.settle', { ask: 4, error: { type: 'RangeError', message: 'no b' } }],
  ]);
});

test('all else passes through: fields, getters, methods, what is set, what a method returns of itself', async () => {
  const kv = storeOf(['size']);
  const { asks } = await recorded(async () => {
    assert.deepEqual(
      [kv.name, kv.keys, kv instanceof Store, 'name' in kv, Object.keys(kv)],
      ['store', ['a'], true, true, ['name']],
    );
    assert.equal(kv.connect(), kv);
    assert.equal(kv.connect, kv.connect);
    assert.equal(kv.readTwice.name, 'readTwice');
    assert.deepEqual(await kv.readTwice('a'), [{ n: 1 }, { n: 1 }]);
    kv.name = 'other';
    assert.equal(kv.name, 'other');
  });
  assert.deepEqual(asks, []);
});

test('outside of a call nothing is asked', async () => {
  const kv = storeOf(['size']);
  assert.deepEqual([await kv.read('a'), kv.readSync('a'), kv.size()], [{ n: 1 }, { n: 1 }, 1]);
  await assert.rejects(kv.read('b'), RangeError);
});

const CLIENTS = {
  'a frozen object': () => Object.freeze({ read: async (key) => key, other: 1 }),
  'a function with methods': () => Object.assign(() => 'called', { read: async (key) => key, other: 1 }),
  'a class': () =>
    class {
      static other = 1;
      static read = async (key) => key;
    },
  'methods of a prototype without a name': () => Object.create({ read: async (key) => key, other: 1 }),
};

for (const [name, clientOf] of Object.entries(CLIENTS)) {
  test(`a client that is ${name}`, async () => {
    const client = wrap(clientOf(), ['read']);
    const { asks } = await recorded(async () => assert.equal(await client.read('x'), 'x'));
    assert.deepEqual(asks[0], ['respond', { ask: 0, key: 'read', args: ['x'] }]);
    assert.equal(client.other, 1);
    if (name === 'a function with methods') assert.equal(client(), 'called');
    if (name === 'a class') assert.ok(new client() instanceof client);
  });
}

test('a query that runs when it is awaited stays the very object, and runs once', async () => {
  let ran = 0;
  class Query {
    where() {
      return this;
    }
    then(done, failed) {
      ran++;
      return Promise.resolve(['row']).then(done, failed);
    }
  }
  const made = [];
  const db = wrap({ from: () => made[made.push(new Query()) - 1] }, ['from'], { prefix: 'db' });
  const { asks, output } = await recorded(async () => {
    const query = db.from('users');
    assert.equal(query, made[0]);
    assert.equal(ran, 0);
    const rows = await query.where();
    const unused = db.from('never');
    assert.ok(unused instanceof Query);
    return rows;
  });
  assert.deepEqual(output, ['row']);
  assert.equal(ran, 1);
  assert.deepEqual(
    asks.map(([method, { ask }]) => [method, ask]),
    [
      ['respond', 0],
      ['respond.settle', 0],
      ['respond', 1],
    ],
  );
});

test('a promise with members keeps them', async () => {
  const client = wrap({ run: () => Object.assign(Promise.resolve(1), { pid: 7 }) }, ['run']);
  const { value } = await recorded(async () => {
    const running = client.run();
    return [running.pid, await running];
  });
  assert.deepEqual(value, [7, 1]);
});

test('arguments that JSON cannot carry are written as well as it can, and said to be', async () => {
  const client = wrap({ read: async (options, callback) => callback(options.at.getTime()) }, ['read']);
  const { asks, value, lossy } = await recorded(() => client.read({ at: new Date(5) }, (at) => at + 1));
  assert.equal(value, 6);
  assert.deepEqual(asks[0][1].args, [{ at: '1970-01-01T00:00:00.005Z' }, null]);
  assert.equal(lossy, true);
});

test('a method that answers at once and does not say so is told, once', async () => {
  warnings.length = 0;
  const kv = storeOf([]);
  await recorded(() => [kv.size(), kv.size()]);
  await turn();
  assert.deepEqual(warnings, [
    'kv.size answered at once: on replay it will be a promise, unless wrap() is told so (sync)',
  ]);
});

const REFUSED = {
  'a method that is not there': [{}, ['read'], {}],
  'no client': [null, ['read'], {}],
  'a sync method that is none': [{ read() {} }, ['read'], { sync: ['reed'] }],
};

for (const [name, [client, methods, options]] of Object.entries(REFUSED)) {
  test(`refused: ${name}`, () => assert.throws(() => wrap(client, methods, options), TypeError));
}

test('the recorder wraps clients too', async () => {
  const { asks } = await recorded((recorder) =>
    recorder.wrap({ read: async () => 1 }, ['read'], { prefix: 'kv' }).read(),
  );
  assert.deepEqual(asks[0], ['respond', { ask: 0, key: 'kv.read' }]);
});

// Shims

const REAL = { Date, now: Date.now, random: Math.random, performance: performance.now, uuid: crypto.randomUUID };

test('shims: the clock and the dice of a call are written down, whichever door they come through', async () => {
  const { value, asks } = await recorded(
    async () => {
      await null;
      const filled = new Uint16Array(2);
      return [
        Date.now(),
        new Date().getTime(),
        performance.now(),
        Math.random(),
        crypto.randomInt(5, 9),
        crypto.randomBytes(2).toString('hex'),
        randomUUID(),
        Buffer.from(crypto.randomFillSync(filled, 1).buffer).toString('hex'),
        await new Promise((resolve, reject) => crypto.randomInt(3, (error, n) => (error ? reject(error) : resolve(n)))),
        await new Promise((resolve) => crypto.randomBytes(1, (error, found) => resolve(found.toString('hex')))),
        Date.parse(Date()) > 0,
        Buffer.from(globalThis.crypto?.getRandomValues(new Uint8Array(2)) ?? []).toString('hex'),
      ];
    },
    (recorder) => recorder.shim(),
  );
  const web = globalThis.crypto === undefined ? 0 : 1;
  assert.deepEqual(
    asks.map(([method, { ask, value, ...question }]) => [method, question]),
    [
      ['now', {}],
      ['now', {}],
      ['now', { clock: 'monotonic' }],
      ['random', {}],
      ['random', { draw: 'int', low: 5, high: 8 }],
      ['random', { draw: 'bytes', n: 2 }],
      ['random', { draw: 'bytes', n: 16 }],
      ['random', { draw: 'bytes', n: 2 }],
      ['random', { draw: 'int', low: 0, high: 2 }],
      ['random', { draw: 'bytes', n: 1 }],
      ['now', {}],
      ...Array(web).fill(['random', { draw: 'bytes', n: 2 }]),
    ],
  );
  const answers = asks.map(([, { value }]) => value);
  assert.deepEqual([value.slice(0, 6), value[8], value[9]], [answers.slice(0, 6), answers[8], answers[9]]);
  assert.equal(value[7], `0000${answers[7]}`);
  assert.match(value[6], /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
});

test('shims: a Date stays a Date', async () => {
  await recorded(
    () => {
      const real = new REAL.Date(5);
      const shimmed = new Date(5);
      assert.ok(real instanceof Date && shimmed instanceof REAL.Date && new Date() instanceof Date);
      assert.deepEqual(shimmed, real);
      assert.equal(new Date().constructor, Date);
      assert.deepEqual([Date.name, Date.length, Date.UTC(1970, 0), new Date(1970, 0, 2).getDate()], ['Date', 7, 0, 2]);
      class Own extends Date {}
      assert.ok(new Own() instanceof Own && new Own(5).getTime() === 5);
    },
    (recorder) => recorder.shim(),
  );
});

test('shims: outside of calls and inside effects the real ones answer, and close() takes them away', async () => {
  const client = wrap({ stamp: async () => (await null, Date.now()) }, ['stamp']);
  const { asks } = await recorded(
    () => client.stamp(),
    (recorder) => {
      recorder.shim();
      assert.notEqual(Date, REAL.Date);
      assert.equal(typeof Math.random(), 'number');
      assert.throws(() => crypto.randomBytes(-1), RangeError);
      assert.throws(() => crypto.randomInt(5, 5), RangeError);
    },
  );
  assert.deepEqual(
    asks.map(([method]) => method),
    ['respond', 'respond.settle'],
  );
  assert.deepEqual({ Date, now: Date.now, random: Math.random, performance: performance.now, uuid: randomUUID }, REAL);
  assert.equal(new Date().constructor, REAL.Date);
});

test('shims: what someone has put over them since stays', async () => {
  const fake = () => 0.5;
  await recorded(
    () => Math.random(),
    (recorder) => {
      recorder.shim();
      Math.random = fake;
    },
  );
  assert.equal(Math.random, fake);
  Math.random = REAL.random;
});

// Under a host: the same code, run by a daemon.

const APPLICATION = `
import { attach, wrap } from CLIENT;
import { EventEmitter } from 'node:events';
const recorder = attach({ daemon: ['/nowhere/playhead'] });
recorder.shim();
const live = [];
const kv = wrap({
  read: async (key) => { live.push(key); return { key, at: new Date(0) }; },
  readSync: (key) => { live.push(key); if (key === 'bad') throw new RangeError('bad'); return { key }; },
}, ['read', 'readSync'], { prefix: 'kv' });
const pool = new EventEmitter();
export const started = await kv.read('at start');
`;

function hosted(name, source, judge, answer = recording()) {
  test(`hosted: ${name}`, async () => {
    const exit = await withHost(
      file(`${APPLICATION}\n${source}\nexport const functions = recorder.handlers();`),
      async (daemon) => judge(await daemon.call({ n: 1 }, answer, { fn: 'f' }), daemon),
    );
    assert.equal(exit.code, 0);
    assert.equal(exit.stderr, '');
  });
}

const EFFECTS = `recorder.wrap('f', async (event, ctx) => {
  const value = await kv.read('a');
  const both = kv.readSync('b');
  let failed;
  try { kv.readSync('bad'); } catch (error) { failed = error.name; }
  recorder.note('n');
  return [value, both, failed, Date.now(), Math.random(), ctx.seq, live];
});`;

const told = ({ told: messages }) =>
  messages.map(({ method, params }) => [method, params.ask, params.key].filter((each) => each !== undefined));

hosted('on record the real methods run, and all have their answers as JSON', EFFECTS, (call) => {
  const value = { key: 'a', at: '1970-01-01T00:00:00.000Z' };
  assert.deepEqual(call.output, [value, { key: 'b' }, 'RangeError', 1000, 0.5, 0, ['at start', 'a', 'b', 'bad']]);
  assert.deepEqual(told(call), [
    ['respond', 0, 'kv.read'],
    ['respond.settle', 0],
    ['respond', 1, 'kv.readSync'],
    ['respond.settle', 1],
    ['respond', 2, 'kv.readSync'],
    ['respond.settle', 2],
    ['note'],
    ['now', 3],
    ['random', 4],
  ]);
  assert.deepEqual(call.told[1].params.value, value);
  assert.equal(call.told[5].params.error.type, 'RangeError');
});

const taped = ({ method, params }) => {
  if (method === 'now') return 7;
  if (method === 'random') return 0.25;
  return params.args[0] === 'bad'
    ? { error: { type: 'RangeError', message: 'bad' } }
    : { value: { taped: params.args[0] } };
};

hosted(
  'on replay the tape answers, and nothing is reached live',
  EFFECTS,
  (call) => assert.deepEqual(call.output, [{ taped: 'a' }, { taped: 'b' }, 'RangeError', 7, 0.25, 0, ['at start']]),
  taped,
);

hosted('tools have their arguments back', `recorder.tool('f', (...args) => args);`, async ({ output }, daemon) => {
  assert.deepEqual(output, [{ n: 1 }]);
  for (const args of [[], [1, 'b'], [{ args: [1] }]]) {
    assert.deepEqual((await daemon.call({ args }, undefined, { fn: 'f' })).output, args);
  }
});

hosted(
  'an output that JSON cannot carry is what an attached recorder would have written',
  `recorder.wrap('f', async () => ({ at: new Date(0), u: undefined }));`,
  ({ output }) => assert.deepEqual(output, { at: '1970-01-01T00:00:00.000Z' }),
);

hosted(
  'what a producer asks is off the tape there too',
  `recorder.wrap('f', (event, ctx) => ctx.respond('outer', () => [kv.readSync('x'), typeof Date.now()]));`,
  (call) => {
    assert.deepEqual(told(call), [
      ['respond', 0, 'outer'],
      ['respond.settle', 0],
    ]);
    assert.deepEqual(call.output, [{ key: 'x' }, 'number']);
  },
);

hosted(
  'a door that lost its call is said to have escaped, and is not reached live',
  `pool.on('ask', async (done) => done(await kv.read('lost').catch((error) => error.name)));
  recorder.wrap('f', () => new Promise((resolve) => outside(() => pool.emit('ask', resolve))));
  let outside;
  { const jobs = []; outside = (job) => jobs.push(job); setInterval(() => jobs.splice(0).forEach((job) => job()), 1); }`,
  (call) => {
    assert.deepEqual(told(call), [
      ['escaped', 'kv.read'],
      ['respond', 0, 'kv.read'],
    ]);
    assert.match(call.told[0].params.where, /h\d+\.mjs:\d+/);
    assert.equal(call.output, 'DeterminismError');
  },
  () => ({ fault: { code: -32010, message: 'diverged', data: { kind: 'escaped' } } }),
);

test('hosted: a plain handler may use doors as well', async () => {
  const source = `import { wrap } from CLIENT; const kv = wrap({ read: async () => 1 }, ['read']); export default async () => kv.read('a');`;
  await withHost(file(source), async (daemon) => {
    const call = await daemon.call(null, recording());
    assert.deepEqual(
      [call.output, told(call)],
      [
        1,
        [
          ['respond', 0, 'read'],
          ['respond.settle', 0],
        ],
      ],
    );
  });
});

test('hosted: an answer that comes after the end of its call is refused, not fetched live', async () => {
  const source = `
  let late;
  recorder.wrap('f', (event) => {
    if (event.n === 1) late = new Promise((resolve) => setTimeout(resolve, 20)).then(() => kv.read('late')).catch((error) => error.name);
    else return late.then((found) => [found, live]);
  });`;
  await withHost(file(`${APPLICATION}\n${source}\nexport const functions = recorder.handlers();`), async (daemon) => {
    await daemon.call({ n: 1 }, recording(), { fn: 'f' });
    const { output } = await daemon.call(
      { n: 2 },
      ({ params }) => (params.call === 1 ? { fault: { code: -32003, message: 'no such call' } } : {}),
      { fn: 'f' },
    );
    assert.deepEqual(output, ['CallEnded', ['at start']]);
  });
});
