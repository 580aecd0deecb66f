// What a handler sees of the context, on record and on replay, and what the daemon sees of the handler.
import assert from 'node:assert/strict';
import test from 'node:test';
import { file, handler, recording, withHost } from './daemon.mjs';

const METHODS = ({ told }) => told.map(({ method }) => method);

function check(name, source, judge, { more, answer = recording, stderr = '' } = {}) {
  test(name, async () => {
    const exit = await withHost(handler(source, more), async (daemon) =>
      judge(await daemon.call(null, answer()), daemon),
    );
    assert.equal(exit.code, 0);
    assert.match(exit.stderr, stderr instanceof RegExp ? stderr : new RegExp(`^${stderr}$`));
  });
}

const draws =
  () =>
  ({ method, params }) => {
    if (method === 'now') return params.clock === 'monotonic' ? 12.5 : 1783036800000;
    if (params.draw === 'int') return params.high;
    if (params.draw === 'bytes') return 'ab'.repeat(params.n);
    if (params.draw === 'sample') return [2, 0].slice(0, params.k);
    return 0.25;
  };

check(
  'every draw, also taken out of the context',
  `(event, { now, monotonic, random, randint, randbytes, sample, uuid, seq, call, fn }) => ({
    at: [now(), monotonic()], random: random(), int: randint(-3, 9), bytes: randbytes(2).toString('hex'), isBuffer: Buffer.isBuffer(randbytes(0)),
    positions: sample(5, 2), items: sample(['a', 'b', 'c'], 2), uuid: uuid(), who: [seq, call, fn],
  })`,
  ({ output, told }) => {
    assert.deepEqual(output, {
      at: [1783036800000, 12.5],
      random: 0.25,
      int: 9,
      bytes: 'abab',
      isBuffer: true,
      positions: [2, 0],
      items: ['c', 'a'],
      uuid: 'abababab-abab-4bab-abab-abababababab',
      who: [0, 1, 'handler'],
    });
    assert.deepEqual(
      told.map(({ params }) => params.ask),
      told.map((_, n) => n),
    );
  },
  { answer: draws },
);

check(
  'a draw that makes no sense is not asked',
  `(event, ctx) => [() => ctx.randint(2, 1), () => ctx.randint(0.5, 1), () => ctx.randbytes(-1), () => ctx.sample(2, 3)].map((draw) => {
    try { return draw(); } catch (error) { return error.name; }
  })`,
  ({ output, told }) => {
    assert.deepEqual(output, ['RangeError', 'TypeError', 'RangeError', 'RangeError']);
    assert.equal(told.length, 0);
  },
);

check(
  'what a producer asks is live and off the tape, before its first await and after',
  `async (event, ctx) => {
    const live = await ctx.respond('k', async () => {
      const seen = [typeof ctx.now(), ctx.random() < 1, ctx.randint(5, 5), ctx.sample(4, 4).length];
      await new Promise((done) => setTimeout(done, 2));
      ctx.note('unsaid');
      return [...seen, ctx.now() > 1e12, typeof ctx.monotonic(), ctx.uuid().length, await ctx.respond('inner', () => 'direct'), ctx.randbytes(3).length];
    });
    return [live, ctx.now()];
  }`,
  ({ output, ...rest }) => {
    assert.deepEqual(output, [['number', true, 5, 4, true, 'number', 36, 'direct', 3], 1000]);
    assert.deepEqual(METHODS(rest), ['respond', 'respond.settle', 'now']);
  },
);

check(
  'a handler asks on while a producer of its own is at work',
  `async (event, ctx) => {
    let go;
    const open = ctx.respond('k', async () => { await new Promise((done) => { go = done; }); return ctx.now() > 1e12; });
    await ctx.respond('other', () => 1);
    const at = ctx.now();
    go();
    return [at, await open];
  }`,
  ({ output }) => assert.deepEqual(output, [1000, true]),
);

check(
  'a value reaches the handler as JSON brings it back, written down when it was produced',
  `async (event, ctx) => {
    const made = { list: [1, , -0], nothing: null };
    const first = ctx.respond('k', () => made);
    const got = await first;
    made.list.push('later');
    return [got === made, Object.is(got.list[2], 0), got.list[1], await ctx.respond('void', () => undefined), got];
  }`,
  ({ output }) => assert.deepEqual(output, [false, true, null, null, { list: [1, null, 0], nothing: null }]),
);

const CAUGHT = `async (event, ctx) => {
  const seen = [];
  for (const run of [
    () => { throw new RangeError('r'); },
    async () => { throw Object.assign(new Error('no file'), { code: 'ENOENT' }); },
    () => { throw new Odd('odd'); },
    () => { throw 'text'; },
    () => ({ a: [NaN] }),
    () => new Map(),
  ]) {
    try { await ctx.respond('k', run); } catch (error) {
      seen.push([error.name, error.message, error.constructor.name, error.code ?? null, error.cause !== undefined]);
    }
  }
  return seen;
}`;

const ERRORS = [
  ['RangeError', 'r', 'RangeError', null],
  ['Error', 'no file', 'Error', 'ENOENT'],
  ['Odd', 'odd', 'RecordedError', null],
  ['string', 'text', 'RecordedError', null],
  ['NotJSON', 'the answer to "k" at /a/0: NaN is not finite', 'RecordedError', null],
  ['NotJSON', 'the answer to "k": a Map would be written as {}: spread it into an array', 'RecordedError', null],
];

check(
  'errors of producers are the same to the handler on record and on replay, but for their cause',
  CAUGHT,
  async ({ output, told }, daemon) => {
    assert.deepEqual(
      output,
      ERRORS.map((error) => [...error, true]),
    );
    const errors = told.filter(({ method }) => method === 'respond.settle').map(({ params }) => params.error);
    const replayed = await daemon.call(null, () => ({ error: errors.shift() }));
    assert.deepEqual(
      replayed.output,
      ERRORS.map((error) => [...error, false]),
    );
  },
  { more: 'class Odd extends Error {}' },
);

check(
  'a recorded error that leaves the handler keeps its type',
  `(event, ctx) => ctx.respond('k', () => 0)`,
  ({ raised }) => assert.deepEqual(raised, { type: 'KeyError', message: "'a'" }),
  { answer: () => () => ({ error: { type: 'KeyError', message: "'a'" } }) },
);

check(
  'registered revivers make the error',
  `async (event, ctx) => { try { await ctx.respond('k', () => 0); } catch (error) { return [error instanceof Declined, error.code]; } }`,
  ({ output }) => assert.deepEqual(output, [true, 51]),
  {
    more: `class Declined extends Error {}
export const revivers = { Declined: (e) => Object.assign(new Declined(e.message), { code: e.data }) };`,
    answer: () => () => ({ error: { type: 'Declined', message: 'no', data: 51 } }),
  },
);

check(
  'HandlerError of the installed package, in another copy than the host',
  `() => { throw new HandlerError('PaymentDeclined', 'card expired', { data: { card: 1 } }); }`,
  ({ raised }) => assert.deepEqual(raised, { type: 'PaymentDeclined', message: 'card expired', data: { card: 1 } }),
  { more: 'import { HandlerError } from CLIENT;' },
);

const OUTPUTS = {
  nothing: ['() => {}', { output: null }],
  'a promise of nothing': ['async () => {}', { output: null }],
  'a thenable': ['() => ({ then: (done) => done(4) })', { output: 4 }],
  'a Date inside': [
    '() => ({ at: new Date(0) })',
    {
      raised: {
        type: 'NotJSON',
        message: 'output at /at: a Date would be read back as a string: return its getTime() or toISOString()',
      },
    },
  ],
  'a thrown number': ['() => { throw 7; }', { raised: { type: 'number', message: '7' } }],
  'a rejection': ['async () => { throw new TypeError("t"); }', { raised: { type: 'TypeError', message: 't' } }],
  'evidence that is no JSON': [
    '() => { throw new HandlerError("T", "m", { data: 1n }); }',
    { raised: { type: 'T', message: 'm' } },
  ],
};

test('what a handler returns or throws', async () => {
  const functions = Object.entries(OUTPUTS).map(([name, [source]]) => `${JSON.stringify(name)}: ${source}`);
  const source = `import { HandlerError } from CLIENT; export const functions = { ${functions.join(',\n')} };`;
  await withHost(file(source), async (daemon) => {
    for (const [fn, [, expected]] of Object.entries(OUTPUTS)) {
      const { output, raised } = await daemon.call(null, undefined, { fn });
      assert.deepEqual(raised === undefined ? { output } : { raised }, expected, fn);
    }
  });
});

check(
  'a wrong respond is a rejection, and not an ask',
  `async (event, ctx) => {
    const tries = [[1, () => 1], ['k'], ['k', () => 1, { args: 'a' }], ['k', () => 1, { kwargs: [] }], ['k', () => 1, { args: [{ a: undefined }] }]];
    const promises = tries.map((args) => ctx.respond(...args));
    return (await Promise.allSettled(promises)).map(({ reason }) => reason.name + (reason.pointer ?? ''));
  }`,
  ({ output, told }) => {
    assert.deepEqual(output, ['TypeError', 'TypeError', 'TypeError', 'TypeError', 'NotJSON/0/a']);
    assert.equal(told.length, 0);
  },
);

check(
  'args, kwargs and lanes are on the wire, and lanes share the count of asks',
  `async (event, ctx) => {
    const lane = ctx.lane('w');
    await lane.respond('k', () => 1, { args: ['é', null], kwargs: { a: [1] } });
    ctx.now();
    lane.random();
    lane.note('n');
  }`,
  ({ told }) =>
    assert.deepEqual(
      told.map(({ params }) => params),
      [
        { call: 1, ask: 0, key: 'k', args: ['é', null], kwargs: { a: [1] }, lane: 'w' },
        { call: 1, ask: 0, value: 1 },
        { call: 1, ask: 1 },
        { call: 1, ask: 2, lane: 'w' },
        { call: 1, name: 'n', lane: 'w' },
      ],
    ),
);

check(
  'spans around a function, synchronous or not, and by hand',
  `async (event, ctx) => {
    const results = [ctx.span('sync', () => 1), await ctx.span('async', { d: 1 }, async () => 2)];
    try { ctx.span('fails', undefined, () => { throw new Error('x'); }); } catch {}
    const hand = ctx.span('hand');
    hand.end({ ok: true });
    hand.end('again');
    return results;
  }`,
  ({ output, told }) => {
    assert.deepEqual(output, [1, 2]);
    assert.deepEqual(
      told.map(({ params: { sid, phase, name, data, outcome } }) => [sid, phase, name, data ?? outcome ?? null]),
      [
        [1, 'begin', 'sync', null],
        [1, 'end', 'sync', 'ok'],
        [2, 'begin', 'async', { d: 1 }],
        [2, 'end', 'async', 'ok'],
        [3, 'begin', 'fails', null],
        [3, 'end', 'fails', 'error'],
        [4, 'begin', 'hand', null],
        [4, 'end', 'hand', { ok: true }],
      ],
    );
  },
);

const DIVERGED = {
  code: -32010,
  message: 'the tape has no answer',
  data: { kind: 'question', message: 'no such key' },
};

check(
  'a divergence is a DeterminismError, thrown or as a rejection',
  `async (event, ctx) => {
    const seen = [];
    try { ctx.now(); } catch (error) { seen.push([error.name, error.kind, error.message]); }
    await ctx.respond('k', () => 1).catch((error) => seen.push([error instanceof DeterminismError, error.kind]));
    return seen;
  }`,
  ({ output }) =>
    assert.deepEqual(output, [
      ['DeterminismError', 'question', 'no such key'],
      [false, 'question'],
    ]),
  { more: 'class DeterminismError extends Error {}', answer: () => () => ({ fault: DIVERGED }) },
);

// Refuses the first settlement. Its refusal comes before the answer to the question that was asked next.
const forbidding = () => {
  const record = recording();
  let refused = false;
  return (message) => {
    if (message.method !== 'respond.settle' || refused) return record(message);
    refused = true;
    return { fault: { code: -32012, message: 'refused by policy' } };
  };
};

check(
  'a refused settlement fails the next context call',
  `async (event, ctx) => {
    await ctx.respond('k', () => 1);
    await ctx.respond('next', () => 1);
    try { ctx.now(); } catch (error) { return [error.name, ctx.random()]; }
  }`,
  ({ output }) => assert.deepEqual(output, ['Forbidden', 0.5]),
  { answer: forbidding },
);

check(
  'or the return, if that comes next',
  `async (event, ctx) => { await ctx.respond('k', () => 1); return ctx.respond('next', () => 1); }`,
  ({ raised }) => assert.deepEqual(raised, { type: 'Forbidden', message: 'refused by policy' }),
  { answer: forbidding },
);

check(
  'work that outlives its call asks in vain: told on stderr, and the next call is not touched',
  `async (event, ctx) => { setImmediate(async () => { ctx.now(); }); setImmediate(async () => { await ctx.respond('k', () => 1); }); return ctx.seq; }`,
  async ({ output }, daemon) => {
    const late = [await daemon.next(), await daemon.next()];
    assert.deepEqual(
      [output, ...late.map(({ method, params }) => [method, params.ask])],
      [0, ['now', 0], ['respond', 1]],
    );
    for (const { id } of late) daemon.send({ id, error: { code: -32003, message: 'no such call is open' } });
    const { id } = daemon.handle(null);
    assert.deepEqual(await daemon.next(), { jsonrpc: '2.0', id, result: { output: 1 } });
    await daemon.next();
    await daemon.next();
  },
  { stderr: /^(playhead-client: not awaited by anyone: CallEnded: call \d has been answered already\n)+$/ },
);

test('a rejection that nobody awaits ends the process, as Node does', () =>
  withHost(
    handler(`async () => { Promise.reject(new Error('forgotten')); await new Promise(setImmediate); return 1; }`),
    async (daemon) => {
      daemon.handle(null);
      assert.equal(await daemon.next(), null);
      const { code, stderr } = await daemon.exited;
      assert.equal(code, 1);
      assert.match(stderr, /forgotten/);
    },
  ));

const CANCELS = {
  'in a synchronous question': `(event, ctx) => { try { ctx.now(); } finally { console.error('finally'); } }`,
  'with two answers open, the second awaited by nobody': `async (event, ctx) => {
    const other = (async () => { await ctx.respond('b', () => 1); })();
    try { await ctx.respond('a', () => 1); } finally { console.error('finally'); }
    await other;
  }`,
  'whatever the handler makes of it': `async (event, ctx) => { try { ctx.now(); } catch { console.error('finally'); return 'all well'; } }`,
  'of a handler that waits for something else': `(event, ctx) => { console.error('finally'); ctx.note('begun'); return new Promise(() => {}); }`,
};

for (const [name, source] of Object.entries(CANCELS)) {
  test(`cancel ${name}`, async () => {
    const exit = await withHost(handler(source), async (daemon) => {
      const { id, call } = daemon.handle(null);
      const ahead = daemon.handle(null);
      await daemon.next();
      daemon.send({ method: 'cancel', params: { call: ahead.call } });
      daemon.send({ method: 'cancel', params: { call } });
      const answers = [];
      while (answers.length < 2) {
        const message = await daemon.next();
        if (message.method === undefined) answers.push(message);
      }
      const raised = { type: 'Cancelled', message: 'the call was cancelled' };
      assert.deepEqual(
        answers.sort((a, b) => (a.id < b.id ? -1 : 1)),
        [id, ahead.id].map((due) => ({ jsonrpc: '2.0', id: due, result: { raised } })),
      );
    });
    assert.equal(exit.code, 0);
    assert.match(exit.stderr, /^finally$/m);
  });
}

const REFUSED = {
  'handle without an event': ['handle', { call: 1, fn: 'handler', seq: 0 }, -32602],
  'handle without a call': ['handle', { fn: 'handler', seq: 0, event: 1 }, -32602],
  'handle with a seq that is none': ['handle', { call: 1, fn: 'handler', seq: '0', event: 1 }, -32602],
  'an unknown function': ['handle', { call: 1, fn: 'constructor', seq: 0, event: 1 }, -32602],
  'an unknown method': ['rewind', {}, -32601],
  'a second initialize': ['initialize', { protocol: 1 }, -32600],
};

test('requests that are refused', () =>
  withHost(handler('() => 1'), async (daemon) => {
    for (const [name, [method, params, code]] of Object.entries(REFUSED)) {
      const id = daemon.request(method, params);
      const { error, ...rest } = await daemon.next();
      assert.deepEqual([rest, error.code], [{ jsonrpc: '2.0', id }, code], name);
    }
    daemon.send({ method: 'weather', params: {} });
    daemon.send({ id: 99, result: 'to a question nobody asked' });
    assert.equal((await daemon.call(null)).output, 1);
  }));
