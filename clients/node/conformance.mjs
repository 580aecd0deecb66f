// The conformance program of the Node client: the functions of protocol/conformance.md, and nothing else.
//   playhead conformance --command "node conformance.mjs"
import { writeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { HandlerError, serve } from './index.mjs';

const hour = () => new Promise((done) => setTimeout(done, 3600_000));
const made = () => ({ price: 990 });
const fail = () => {
  throw new HandlerError('TimeoutError', 'no quote');
};
const quote = (event, ctx) => ctx.respond('quote', made, { args: [event.sku] });
const quote_failing = (event, ctx) => ctx.respond('quote', fail, { args: [event.sku] });

let kept;
let counted = 0;

const functions = {
  nothing: () => undefined,
  echo: (event) => event,
  plus_one: (event) => event + 1,
  now: (event, ctx) => ctx.now(),
  clocks: (event, ctx) => [ctx.now(), ctx.monotonic()],
  seq_and_now: (event, ctx) => ({ seq: ctx.seq, at: ctx.now() }),
  draws: (event, ctx) => [
    ctx.random(),
    ctx.randint(1, 6),
    Buffer.from(ctx.randbytes(5)).toString('hex'),
    ctx.sample(10, 3),
    ctx.random(),
  ],
  draw_two: (event, ctx) => [ctx.randint(1, 6), ctx.random()],
  uuid: (event, ctx) => ctx.uuid(),

  charge: async (event, ctx) => {
    const receivedAt = ctx.now();
    const sampled = ctx.random() < 0.2;
    const balance = await ctx.respond('account.balance', () => 1000 - event.amount);
    return { receivedAt, sampled, approved: balance >= 0, balance };
  },
  quote,
  quote_in_eur: (event, ctx) => ctx.respond('quote', made, { args: [event.sku], kwargs: { currency: 'EUR' } }),
  quote_failing,
  quote_or_null: async (event, ctx) => {
    try {
      return { price: await quote_failing(event, ctx) };
    } catch (error) {
      if (error.name !== 'TimeoutError') throw error;
      return { price: null };
    }
  },
  slow: (event, ctx) => ctx.respond('slow', hour),

  declined: () => {
    throw new HandlerError('Declined', 'no funds');
  },
  testify: (event, ctx) => {
    const charge = ctx.span('charge', { amount: event.amount });
    ctx.observe('queue.depth', 17);
    ctx.note('retry', { attempt: 2 });
    charge.end('approved');
    return true;
  },
  escaped: (event, ctx) => {
    ctx.escaped('socket.connect', 'handler.py:12');
    return true;
  },
  caught: (event, ctx) => {
    const at = ctx.now();
    for (const ask of [ctx.now, ctx.random]) {
      try {
        ask();
      } catch {
        // What is asked for is that nothing happens.
      }
    }
    return { at };
  },
  prints: (event, ctx) => {
    console.log('one');
    const at = ctx.now();
    process.stdout.write('{"jsonrpc":"2.0","method":"two"}');
    writeSync(1, 'three\n');
    return at;
  },
  reads: () => text(process.stdin),

  order: async (event, ctx) => [ctx.now(), ctx.random(), (await quote(event, ctx)).price],
  readings: (event, ctx) => [ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)],
  noted: (event, ctx) => {
    const first = ctx.now();
    ctx.note('retry', { attempt: 2 });
    return [first, ctx.now()];
  },
  race: async (event, ctx) => {
    let release;
    const read = new Promise((done) => (release = done));
    const near = ctx.respond('near', () => read.then(() => 'near'));
    const far = ctx.respond('far', () => 'far');
    const at = [ctx.now()];
    const first = await Promise.race([near, far]);
    at.push(ctx.now());
    release();
    await far;
    return { first, at, last: await near };
  },
  abandon: (event, ctx) => {
    ctx.respond('slow', hour);
    return 'done';
  },
  kept: (event, ctx) => {
    if (ctx.seq === 0) {
      kept = ctx;
      return null;
    }
    try {
      return kept.now();
    } catch (error) {
      return error.name;
    }
  },
  live: async (event, ctx) => {
    const asks = () => {
      ctx.now();
      ctx.random();
      return 'made';
    };
    return [await ctx.respond('live', asks), ctx.now()];
  },
  not_json: () => ({ items: [1, NaN] }),

  lanes: (event, ctx) => [ctx.now(), ctx.monotonic(), ctx.lane('worker-1').now()],
  left_behind: (event, ctx) => {
    const later = () => {
      try {
        ctx.now();
      } catch {
        // CallEnded, as it should be.
      }
    };
    if (ctx.seq === 0) setImmediate(later);
  },
  count: () => ++counted,
};

serve(functions, {
  name: 'conformance',
  reset: () => {
    kept = undefined;
    counted = 0;
  },
});
