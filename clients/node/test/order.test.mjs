// The order in which answers are handed over: one a turn, settled in the same breath, losers dropped.
import assert from 'node:assert/strict';
import test from 'node:test';
import { handler, recording, withHost } from './daemon.mjs';

const RUNS = 100;

const FAN_OUT = handler(`async (event, ctx) => {
  const later = (value, ms) => new Promise((done) => (ms < 0 ? done(value) : setTimeout(done, ms, value)));
  const order = [];
  const branch = async (n) => {
    const first = await ctx.respond('first', () => later(n * 10, event.ms[n] ?? 0), { args: [n] });
    order.push(['first', n, ctx.now()]);
    const second = await ctx.respond('second', () => later(first + 1, event.ms[n + 1] ?? -1), { args: [n] });
    order.push(['second', n, ctx.now()]);
    return second;
  };
  const branches = event.ms.map((_, n) => branch(n));
  const winner = await Promise.race(branches);
  order.push(['winner', winner, ctx.random()]);
  const all = event.all ? await Promise.all(branches) : null;
  return { order, all };
}`);

// Keeps what a tape keeps: the asks in order, and for each respond its answer with by (asks made by then) and rank.
function recorder() {
  const asks = [];
  let rank = 0;
  let time = 1;
  const answer = ({ method, params }) => {
    if (method === 'respond.settle') {
      Object.assign(asks[params.ask], { value: params.value, by: asks.length, rank: rank++ });
      return {};
    }
    assert.equal(params.ask, asks.length);
    const { call, ask, ...question } = params;
    asks.push({ method, question });
    if (method === 'respond') return { produce: true };
    return (asks.at(-1).value = method === 'now' ? time++ : 0.25);
  };
  return { asks, answer };
}

// Answers now and random at once; holds an answer to respond until `by` asks have been made and lower ranks are out.
function player(tape) {
  const held = [];
  let made = 0;
  let out = 0;
  return ({ id, method, params }, daemon) => {
    const taped = tape[params.ask];
    const { call, ask, ...question } = params;
    assert.equal(params.ask, made);
    assert.deepEqual({ method, question }, { method: taped?.method, question: taped?.question });
    made++;
    if (method === 'respond') held.push({ id, taped });
    else daemon.send({ id, result: taped.value });
    for (let next = find(); next !== -1; next = find()) {
      const [
        {
          id: due,
          taped: { value },
        },
      ] = held.splice(next, 1);
      out++;
      daemon.send({ id: due, result: { value } });
    }
    return undefined;
  };

  function find() {
    return held.findIndex(({ taped }) => taped.rank === out && taped.by <= made);
  }
}

test(`${RUNS} fans of questions replay in the order they were recorded`, async () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  await withHost(FAN_OUT, (daemon) => pairs(daemon, random));
});

async function pairs(daemon, random) {
  const shapes = new Set();
  for (let run = 0; run < RUNS; run++) {
    const event = { ms: Array.from({ length: 2 + random(5) }, () => random(5) - 1), all: random(2) === 0 };
    const tape = recorder();
    const recorded = await daemon.call(event, tape.answer);
    const replayed = await daemon.call(event, player(tape.asks));
    assert.equal(recorded.raised, undefined);
    assert.deepEqual(replayed.output, recorded.output);
    shapes.add(JSON.stringify(recorded.output.order.map(([what, n]) => [what, n])));
  }
  assert.ok(shapes.size > RUNS / 4, `only ${shapes.size} different orders`);
}

test('one answer a turn: all that one woke has run before the next is handed over', () =>
  check(
    `async (event, ctx) => {
      const seen = [];
      const branch = async (n) => {
        await ctx.respond('k', () => n);
        seen.push(n);
        for (let i = 0; i < 10; i++) await null;
        await new Promise(process.nextTick);
        seen.push(n);
      };
      await Promise.all([0, 1, 2].map(branch));
      return seen;
    }`,
    // All answers in one write.
    (held) =>
      ({ id }, daemon) => {
        held.push(id);
        if (held.length === 3)
          daemon.raw(
            held.map((due) => JSON.stringify({ jsonrpc: '2.0', id: due, result: { value: 1 } }) + '\n').join(''),
          );
      },
    ({ output }) => assert.deepEqual(output, [0, 0, 1, 1, 2, 2]),
  ));

test('nothing is asked between a settlement and what it wakes', () =>
  check(
    `async (event, ctx) => {
      const all = [1, 2, 3].map(async (n) => { await ctx.respond('k', () => n); ctx.note('woke', n); });
      await Promise.all(all);
    }`,
    () => recording(),
    ({ told }) => {
      const said = told.slice(3).map(({ method, params }) => (method === 'note' ? params.data : method));
      assert.deepEqual(said, ['respond.settle', 1, 'respond.settle', 2, 'respond.settle', 3]);
    },
  ));

test('an answer that came along with the answer to a synchronous question is handed over', () =>
  check(
    `async (event, ctx) => { const open = ctx.respond('k', () => 0); const at = ctx.now(); return [at, await open]; }`,
    (held) =>
      ({ id, method }, daemon) => {
        held.push(id);
        const line = (due, result) => JSON.stringify({ jsonrpc: '2.0', id: due, result }) + '\n';
        if (method === 'now') daemon.raw(line(id, 5) + line(held[0], { value: 6 }));
      },
    ({ output }) => assert.deepEqual(output, [5, 6]),
  ));

test('the loser of a race is dropped, and so is what it throws', () =>
  check(
    `async (event, ctx) => {
      const late = (run) => () => new Promise((done, fail) => setTimeout(() => run(done, fail), 5));
      const slow = [ctx.respond('a', late((done) => done(1))), ctx.respond('b', late((done, fail) => fail(new Error('late'))))];
      return Promise.race([ctx.respond('fast', () => 'won'), ...slow]);
    }`,
    () => recording(),
    async ({ output, told }, daemon) => {
      assert.equal(output, 'won');
      assert.equal(told.filter(({ method }) => method === 'respond.settle').length, 1);
      // Still there after the losers are done, and a second call sees nothing of them.
      const again = await daemon.call(null, recording());
      assert.deepEqual(
        again.told.map(({ params }) => params.call),
        [2, 2, 2, 2],
      );
    },
  ));

test('handles sent ahead run one at a time, in order', async () => {
  await withHost(
    handler(`async (event, ctx) => [event, await ctx.respond('k', () => 0), ctx.now()]`),
    async (daemon) => {
      const ids = ['a', 'b', 'c'].map((event) => daemon.handle(event).id);
      const seen = [];
      while (seen.length < 9) {
        const message = await daemon.next();
        if (message.method === undefined) seen.push([message.id, message.result.output]);
        else {
          seen.push(message.method);
          daemon.send({ id: message.id, result: message.method === 'now' ? 1 : { value: 2 } });
        }
      }
      assert.deepEqual(
        seen,
        ids.flatMap((id, n) => ['respond', 'now', [id, ['abc'[n], 2, 1]]]),
      );
    },
  );
});

async function check(source, answers, judge) {
  const { code, stderr } = await withHost(handler(source), async (daemon) =>
    judge(await daemon.call(null, answers([])), daemon),
  );
  assert.deepEqual([code, stderr], [0, '']);
}
