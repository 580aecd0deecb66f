// Windows: what is taken from them, when it is said, and in how many writes. A peer on a wire of memory, with a clock
// that stands still unless a test moves it; what only a process can show is at the end.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Daemon, HOST, handler } from './daemon.mjs';

const real = Date.now;
let clock = 1_783_036_800_000;
Date.now = () => clock;
const { Peer } = await import('../src/peer.mjs');
Date.now = real;

const BALANCES = { account: [{ value: { balance: 7 } }] };

// What the daemon foresees, letter by letter.
const asked = (call, ...items) =>
  `{"jsonrpc":"2.0","method":"asked","params":{"call":${call},"asks":[${items.join(',')}]}}\n`;
const output = (id, text) => `{"jsonrpc":"2.0","id":${id},"result":{"output":${text}}}\n`;
const question = (id, method, rest) => `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${rest}}}\n`;
const settled = (ask, text) => `{"m":"respond.settle","p":{"ask":${ask},${text}}}`;
const NOW = '{"m":"now"}';
const RANDOM = '{"m":"random"}';
const ACCOUNT = '{"m":"respond","p":{"key":"account"}}';

class Wire {
  writes = [];
  turns = 0;
  waiting = [];
  /** Called when a question blocks: gives the frames that come. */
  answer = () => assert.fail('nobody answers');

  send = (text) => this.writes.push(text);
  next = () => this.waiting.shift() ?? null;
  tick = process.nextTick;

  soon = (run) => {
    this.turns++;
    setImmediate(run);
  };

  receive = () => {
    if (this.waiting.length === 0) this.waiting.push(...this.answer(this.writes.at(-1)).map(frame));
    return this.waiting.shift();
  };
}

const frame = (message) => JSON.stringify({ jsonrpc: '2.0', ...message });

const handle = (call, window, event = null) => ({
  id: call + 1,
  method: 'handle',
  params: { call, fn: 'handler', event, seq: call, window },
});

const turn = () => new Promise((done) => setImmediate(done));

/** Plays `frames`, all of which come at once, to a peer that serves `run`, until `calls` of them are answered. */
async function play(run, frames, { answer, capabilities = { window: true }, calls = frames.length } = {}) {
  const wire = new Wire();
  if (answer !== undefined) wire.answer = answer;
  const peer = new Peer(wire, new Map([['handler', run]]), { identity: {} });
  const come = (...messages) => {
    wire.waiting.push(...messages.map(frame));
    peer.arrived();
  };
  come({ id: 0, method: 'initialize', params: { protocol: 1, capabilities } });
  wire.writes.length = wire.turns = 0;
  come(...frames);
  const answers = () => (wire.writes.join('').match(/"result"|"error":\{"code"/g) ?? []).length;
  for (let i = 0; i < 100 && answers() < calls; i++) await turn();
  return { writes: wire.writes, turns: wire.turns, come, peer };
}

/** What a handler says, write by write. */
function says(name, run, frames, writes, options) {
  test(name, async () => assert.deepEqual((await play(run, frames, options)).writes, writes));
}

const all = async (event, ctx) => {
  const at = ctx.now();
  const draw = ctx.random();
  const { balance } = await ctx.respond('account', () => assert.fail('produced'));
  return { at, draw, balance };
};
const ALL = { now: [1], random: [0.5], respond: BALANCES };

says('what a call took goes out with its result, in one write', all, [handle(0, ALL)], [
  asked(0, NOW, RANDOM, ACCOUNT) + output(1, '{"at":1,"draw":0.5,"balance":7}'),
]);

says(
  'calls that are answered in one turn are answered in one write',
  all,
  [handle(0, ALL), handle(1, ALL), handle(2, { now: [2], random: [0.25], respond: BALANCES })],
  [
    asked(0, NOW, RANDOM, ACCOUNT) +
      output(1, '{"at":1,"draw":0.5,"balance":7}') +
      asked(1, NOW, RANDOM, ACCOUNT) +
      output(2, '{"at":1,"draw":0.5,"balance":7}') +
      asked(2, NOW, RANDOM, ACCOUNT) +
      output(3, '{"at":2,"draw":0.25,"balance":7}'),
  ],
);

test('a long line of such calls takes one turn of the event loop, for the writing', async () => {
  const { turns } = await play(all, Array.from({ length: 50 }, (_, n) => handle(n, ALL)));
  assert.equal(turns, 1);
});

says(
  'an answer that has waited for a moment is written before the next call begins',
  (event, ctx) => {
    if (ctx.seq === 1) clock += 4;
    return ctx.now();
  },
  [handle(0, { now: [1, 2, 3, 4] }), handle(1, {}), handle(2, {}), handle(3, {})],
  [
    asked(0, NOW) + output(1, '1') + asked(1, NOW) + output(2, '2'),
    asked(2, NOW) + output(3, '3') + asked(3, NOW) + output(4, '4'),
  ],
);

test('a call that is none is refused in its turn, and those about it are answered', async () => {
  const odd = (call, change) => ({ ...handle(call, ALL), params: { ...handle(call, ALL).params, ...change } });
  const frames = [handle(0, ALL), odd(1, { fn: 'other' }), odd(2, { window: [] }), odd(3, { seq: -1 }), handle(4, ALL)];
  const { writes } = await play(all, frames);
  const told = writes.join('').trim().split('\n').map((text) => JSON.parse(text));
  assert.deepEqual(
    told.filter(({ id }) => id !== undefined).map(({ id, error }) => [id, error?.code]),
    [[1, undefined], [2, -32602], [3, -32602], [4, -32602], [5, undefined]],
  );
});

says(
  'the members of what was asked are in the order of a request, the lane last',
  async (event, ctx) => {
    const lane = ctx.lane('w"1');
    lane.random();
    lane.now();
    return lane.respond('account', () => 0, { args: [1, 'é'], kwargs: { b: 2 } });
  },
  [handle(0, ALL)],
  [
    asked(
      0,
      '{"m":"random","p":{"lane":"w\\"1"}}',
      '{"m":"now","p":{"lane":"w\\"1"}}',
      '{"m":"respond","p":{"key":"account","args":[1,"é"],"kwargs":{"b":2},"lane":"w\\"1"}}',
    ) + output(1, '{"balance":7}'),
  ],
);

says(
  'a question is asked together with what was taken before',
  (event, ctx) => [ctx.now(), ctx.now()],
  [handle(0, { now: [1] })],
  [asked(0, NOW) + question(1, 'now', '"call":0,"ask":1'), output(1, '[1,2]')],
  { answer: () => [{ id: 1, result: 2 }] },
);

says(
  'without the capability a window is what no one knows',
  (event, ctx) => ctx.now(),
  [handle(0, { now: [1] })],
  [question(1, 'now', '"call":0,"ask":0'), output(1, '2')],
  { capabilities: {}, answer: () => [{ id: 1, result: 2 }] },
);

for (const window of [1, [], { now: 1 }, { respond: { account: {} } }]) {
  says(
    `a window that is none is refused: ${JSON.stringify(window)}`,
    () => 1,
    [handle(0, window)],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"the window is not one"}}\n'],
  );
}

says(
  'an answer that is none fails the question',
  (event, ctx) => ctx.respond('account', () => 1).catch((error) => error.name),
  [handle(0, { respond: { account: [{}] } })],
  [asked(0, ACCOUNT) + output(1, '"ProtocolError"')],
);

says(
  'an answer comes when all that is being resolved has been, as one that is asked for does',
  async (event, ctx) => {
    const log = [];
    const ask = ctx.respond('account', () => 0).then(() => log.push('answer'));
    for (let i = 0; i < 20; i++) await null;
    log.push('steps');
    await ask;
    return log;
  },
  [handle(0, ALL)],
  [asked(0, ACCOUNT) + output(1, '["steps","answer"]')],
);

says(
  'of two answers the second comes when all that the first has woken has run',
  async (event, ctx) => {
    const log = [];
    const ask = async (key) => {
      await ctx.respond(key, () => 0);
      for (let i = 0; i < 20; i++) await new Promise(process.nextTick);
      log.push(key);
    };
    const one = ask('a');
    await ctx.respond('b', () => 0);
    log.push('b');
    await one;
    return log;
  },
  [handle(0, { respond: { a: [{ value: 1 }], b: [{ value: 2 }] } })],
  [asked(0, '{"m":"respond","p":{"key":"a"}}', '{"m":"respond","p":{"key":"b"}}'), output(1, '["a","b"]')],
);

says(
  'a call that is over takes nothing: what it left behind asks in vain',
  async (event, ctx) => {
    if (ctx.seq === 1) return [await new Promise((done) => setImmediate(done, 'later')), ctx.now()];
    setImmediate(() => assert.throws(() => ctx.now(), { name: 'CallEnded' }));
    return null;
  },
  [handle(0, { now: [1] }), handle(1)],
  [output(1, 'null') + question(1, 'now', '"call":0,"ask":0'), asked(1, NOW) + output(2, '["later",1]')],
);

says(
  'an answer that nobody waits for is not handed over when its call has ended',
  (event, ctx) => {
    if (ctx.seq === 1) return globalThis.late ?? 'never';
    ctx.respond('account', () => 1).then(() => (globalThis.late = 'late'));
    return null;
  },
  [handle(0, ALL), handle(1)],
  [asked(0, ACCOUNT) + output(1, 'null') + output(2, '"never"')],
);

says(
  'withdrawn, while a question blocks, is the feed and what waiting windows hold, but not that answers are produced',
  (event, ctx) => (ctx.seq === 0 ? [ctx.monotonic(), ctx.now()] : ctx.respond('account', () => 0)),
  [handle(0, { now: [1] }), handle(1, { now: [2], respond: BALANCES, produce: true })],
  [
    question(1, 'now', '"call":0,"ask":0,"clock":"monotonic"'),
    question(2, 'now', '"call":0,"ask":1'),
    output(1, '[50,60]') + asked(1, ACCOUNT),
    asked(1, settled(0, '"value":0')) + output(2, '0'),
  ],
  {
    answer: (said) => {
      if (!said.includes('monotonic')) return [{ id: 2, result: 60 }];
      return [{ method: 'withdraw', params: {} }, { id: 1, result: 50 }];
    },
  },
);

says(
  'cancelled, while a question blocks, is the answer that was about to be handed over',
  async (event, ctx) => {
    const ask = ctx.respond('account', () => 0).catch((error) => error.name);
    try {
      ctx.monotonic();
    } catch {}
    await ask;
  },
  [handle(0, ALL)],
  [
    asked(0, ACCOUNT) + question(1, 'now', '"call":0,"ask":1,"clock":"monotonic"'),
    '{"jsonrpc":"2.0","id":1,"result":{"raised":{"type":"Cancelled","message":"the call was cancelled"}}}\n',
  ],
  { answer: () => [{ method: 'cancel', params: { call: 0 } }] },
);

// Answers that are produced here, and waited for by nobody.

const produced = async (event, ctx) => {
  const at = ctx.now();
  const first = await ctx.respond('account', event === null ? () => at + 1 : async () => at + 1);
  return [first, ctx.now()];
};

for (const [kind, event] of [['at once', null], ['later', true]]) {
  says(
    `a question is said before its producer runs, and settled with the result where it answers ${kind}`,
    produced,
    [handle(0, { now: [1, 2], produce: true }, event)],
    [asked(0, NOW, ACCOUNT), asked(0, settled(1, '"value":2'), NOW) + output(1, '[2,2]')],
  );
}

says(
  'what was done here is not kept back',
  produced,
  [handle(0, { now: [1, 2], produce: true }), handle(1, { now: [1, 2], produce: true })],
  [0, 1].flatMap((n) => [asked(n, NOW, ACCOUNT), asked(n, settled(1, '"value":2'), NOW) + output(n + 1, '[2,2]')]),
);

says(
  'questions of one turn are said together, and their producers run after that',
  async (event, ctx) => {
    const log = [];
    const ask = (key, value) => ctx.respond(key, () => (log.push(`make ${key}`), value)).then(() => log.push(key));
    await Promise.all([ask('a', 1), ask('b', 2)]);
    return log;
  },
  [handle(0, { produce: true })],
  [
    asked(0, '{"m":"respond","p":{"key":"a"}}', '{"m":"respond","p":{"key":"b"}}'),
    asked(0, settled(0, '"value":1'), settled(1, '"value":2')) + output(1, '["make a","make b","a","b"]'),
  ],
);

says(
  'a producer that asks the context is live: it takes nothing',
  (event, ctx) => ctx.respond('account', () => ctx.now() > 1000).then((live) => [live, ctx.now()]),
  [handle(0, { now: [1], produce: true })],
  [asked(0, ACCOUNT), asked(0, settled(0, '"value":true'), NOW) + output(1, '[true,1]')],
);

says(
  'what is said of a call goes out before it waits for something else',
  async (event, ctx) => {
    await ctx.respond('account', () => 1);
    for (let i = 0; i < 2; i++) await turn();
    return null;
  },
  [handle(0, { produce: true })],
  [asked(0, ACCOUNT), asked(0, settled(0, '"value":1')), output(1, 'null')],
);

test('a message of asks is closed before it is too large', async () => {
  const long = 'x'.repeat(200_000);
  const run = async (event, ctx) => {
    for (let i = 0; i < 2; i++) await ctx.respond('account', () => long);
    return null;
  };
  const { writes } = await play(run, [handle(0, { produce: true })]);
  const frames = writes.join('').trim().split('\n');
  assert.deepEqual(
    frames.map((text) => JSON.parse(text).params?.asks.map(({ m }) => m) ?? 'result'),
    [['respond'], ['respond.settle', 'respond'], ['respond.settle'], 'result'],
  );
});

// Of a process.

const DYING = handler(`async (event, ctx) => {
  ctx.now();
  if (event === 'exit') process.exit(3);
  if (event === 'crash') setImmediate(() => { throw new Error('crash'); });
  if (event !== null) await new Promise(() => {});
}`);

for (const event of ['exit', 'crash']) {
  test(`nothing is lost of what was said before the process ends: ${event}`, async () => {
    const daemon = new Daemon([HOST, DYING]);
    try {
      await daemon.initialize({ protocol: 1, capabilities: { window: true } });
      for (const each of [null, event]) daemon.handle(each, { window: { now: [1] } });
      const said = [];
      for (let message = await daemon.next(); message !== null; message = await daemon.next()) said.push(message);
      assert.deepEqual(said, [
        { jsonrpc: '2.0', method: 'asked', params: { call: 1, asks: [{ m: 'now' }] } },
        { jsonrpc: '2.0', id: 'd2', result: { output: null } },
        { jsonrpc: '2.0', method: 'asked', params: { call: 2, asks: [{ m: 'now' }] } },
      ]);
    } finally {
      daemon.kill();
    }
  });
}
