// The conversations of protocol/vectors/session, with this client as the handler.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { CLIENT, Daemon, HOST, file, handler } from './daemon.mjs';

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

const PRICED = `async (event, ctx) => {
  const time = ctx.now();
  const draw = ctx.random();
  return [time, draw, (await ctx.respond('quote', () => ({ price: 990 }), { args: [event.sku] })).price];
}`;

const TIMES_OUT = `() => { throw Object.defineProperty(new Error('no quote'), 'name', { value: 'TimeoutError' }); }`;

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
    const fail = ${TIMES_OUT};
    try { return { price: await ctx.respond('quote', async () => fail(), { args: [event.sku] }) }; }
    catch (error) { if (error.name !== 'TimeoutError') throw error; return { price: null }; }
  }`,
  'produce-value': QUOTE,
  'race-record': RACE,
  'race-replay': RACE,
  reset: `(event, ctx) => ++calls`,
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
  'window-error': QUOTE,
  'window-left-over': `(event, ctx) => ctx.now()`,
  'window-produce': PRICED,
  'window-produce-error': `(event, ctx) => ctx.respond('quote', ${TIMES_OUT}, { args: [event.sku] })`,
  'window-replay': PRICED,
  'window-short': `(event, ctx) => [ctx.now(), ctx.now(), ctx.monotonic(), ctx.randint(1, 6)]`,
  'window-testimony': `(event, ctx) => {
    const first = ctx.now();
    ctx.note('retry', { attempt: 2 });
    return [first, ctx.now()];
  }`,
  withdraw: `(event, ctx) => [ctx.randint(1, 6), ctx.random()]`,
};

if (!fs.existsSync(VECTORS)) {
  test('the vectors are not beside this package', { skip: true }, () => {});
} else {
  test('every vector is listed here, or played by the conformance program', () => {
    const program = fs.readFileSync(path.join(CLIENT, 'conformance.mjs'), 'utf8');
    for (const file of fs.readdirSync(VECTORS).filter((name) => name.endsWith('.json'))) {
      const vector = JSON.parse(fs.readFileSync(path.join(VECTORS, file), 'utf8'));
      const served = new RegExp(`^  ${vector.function}[:,]`, 'm').test(program);
      assert.ok(file.slice(0, -5) in HANDLERS || (vector.only !== 'daemon' && served), file);
    }
  });

  for (const [name, source] of Object.entries(HANDLERS)) {
    if (source === null) continue;
    const vector = JSON.parse(fs.readFileSync(path.join(VECTORS, `${name}.json`), 'utf8'));
    test(`vector ${name}: ${vector.name}`, () => check(vector, source));
  }
}

// A file that the host can load anew, or, for a handler without `reset`, a program that serves it.
function argvOf(vector, source) {
  const [, { frame }] = vector.frames;
  if (frame.result?.capabilities?.reset === true) return [HOST, handler(source, 'let calls = 0;')];
  if (frame.result?.capabilities?.window !== true) return [HOST, handler(source)];
  return [file(`import { serve } from CLIENT;\nserve(${source});\n`)];
}

async function check(vector, source) {
  const daemon = new Daemon(argvOf(vector, source));
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
