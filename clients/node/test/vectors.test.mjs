// The conversations of protocol/vectors/session, with this client as the handler.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { CLIENT, Daemon, HOST, handler } from './daemon.mjs';

const VECTORS = path.join(CLIENT, '../../protocol/vectors/session');

const RACE = `async (event, ctx) => {
  let near;
  const first = ctx.respond('near', () => new Promise((done) => { near = done; }));
  const other = ctx.respond('far', () => new Promise((done) => setImmediate(done, 'far')));
  const at = [ctx.now()];
  const which = await Promise.race([first, other]);
  at.push(ctx.now());
  near?.('near');
  return { first: which, at, last: await first };
}`;

const QUOTE = `(event, ctx) => ctx.respond('quote', () => ({ price: 990 }), { args: [event.sku] })`;

const HANDLERS = {
  'abandoned-record': `async (event, ctx) => { ctx.respond('slow', () => new Promise(() => {})); return 'done'; }`,
  'abandoned-replay': `async (event, ctx) => { ctx.respond('slow', () => 1); return 'done'; }`,
  'ask-after-end': `(event, ctx) => { if (ctx.seq === 0) setImmediate(() => { try { ctx.now(); } catch (e) { if (e.name !== 'CallEnded') throw e; } }); }`,
  'call-numbers': `(event, ctx) => ({ seq: ctx.seq, at: ctx.now() })`,
  'cancel-late': `() => 1`,
  'cancel-record': `(event, ctx) => ctx.respond('slow', () => new Promise((done) => setTimeout(done, 3600_000)))`,
  'cancel-replay': `(event, ctx) => ctx.respond('slow', () => 1)`,
  diverged: `(event, ctx) => { const at = ctx.now(); try { ctx.now(); } catch {} try { ctx.random(); } catch {} return { at }; }`,
  draws: `(event, ctx) => [ctx.random(), ctx.randint(1, 6), ctx.randbytes(5).toString('hex'), ctx.sample(10, 3), ctx.random()]`,
  escaped: `(event, ctx) => { ctx.escaped('socket.connect', 'handler.py:12'); return true; }`,
  'handle-ahead': `(event, ctx) => ctx.now()`,
  'handler-raises': null, // errors of another language; errors.test.mjs has ours
  'incident-4211': fs
    .readFileSync(path.join(CLIENT, 'examples/charge.mjs'), 'utf8')
    .replace(/^[^]*export default|;\s*$/g, ''),
  initialize: `() => null`,
  'not-initialized': `() => null`,
  now: `(event, ctx) => [ctx.now(), ctx.monotonic(), ctx.lane('worker-1').now()]`,
  'produce-error': `async (event, ctx) => {
    const fail = () => { throw Object.defineProperty(new Error('no quote'), 'name', { value: 'TimeoutError' }); };
    try { return { price: await ctx.respond('quote', async () => fail(), { args: [event.sku] }) }; }
    catch (error) { if (error.name !== 'TimeoutError') throw error; return { price: null }; }
  }`,
  'produce-value': QUOTE,
  'race-record': RACE,
  'race-replay': RACE,
  'respond-error': QUOTE,
  'respond-value': `(event, ctx) => ctx.respond('quote', () => 0, { args: [event.sku], kwargs: { currency: 'EUR' } })`,
  'settle-on-replay': null, // a handler that breaks the protocol
  shutdown: `(event) => event`,
  testimony: `(event, ctx) => {
    const charge = ctx.span('charge', { amount: event.amount });
    ctx.observe('queue.depth', 17);
    ctx.note('retry', { attempt: 2 });
    charge.end('approved');
    return true;
  }`,
  'unknown-function': `() => null`,
  'unknown-members': null, // a handler that sends more than this one does
  'unknown-method': `() => null`,
  'unknown-method-asked': null, // likewise
  'version-negotiation': `() => null`,
  'version-refused': null, // a client of another version
};

if (!fs.existsSync(VECTORS)) {
  test('the vectors are not beside this package', { skip: true }, () => {});
} else {
  test('every vector is listed here, run or not', () => {
    const there = fs.readdirSync(VECTORS).filter((name) => name.endsWith('.json'));
    assert.deepEqual(Object.keys(HANDLERS).sort(), there.map((name) => name.slice(0, -5)).sort());
  });

  for (const [name, source] of Object.entries(HANDLERS)) {
    if (source === null) continue;
    const vector = JSON.parse(fs.readFileSync(path.join(VECTORS, `${name}.json`), 'utf8'));
    test(`vector ${name}: ${vector.name}`, () => check(vector, source));
  }
}

async function check(vector, source) {
  const daemon = new Daemon([HOST, handler(source)]);
  try {
    for (const { from, frame } of vector.frames) {
      if (from === 'daemon') {
        daemon.send(frame);
        continue;
      }
      const said = await daemon.next();
      assert.deepEqual(essence(said), essence(frame));
    }
    assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr: '' });
  } finally {
    daemon.kill();
  }
}

// Who the handler says it is differs, of course, and so does the wording of an error. A default may be left out.
function essence(frame) {
  const copy = structuredClone(frame);
  if (copy?.result?.handler !== undefined) delete copy.result.handler;
  if (copy?.error !== undefined) delete copy.error.message;
  if (copy?.params?.draw === 'float') delete copy.params.draw;
  if (copy?.params?.clock === 'wall') delete copy.params.clock;
  return copy;
}
