// The end of an attached application: what it had to say is written, it is not kept alive, and its daemon ends with it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { file } from './daemon.mjs';
import { callsOf, framesOf, serving } from './serving.mjs';

const PATIENCE_MS = 20_000;

/** Runs an application: `source` has `recorder`, `f` (a recorded call that gives its event), `wait`, `opened` and
 * `flushed`. */
async function run(source, { modes = [], options = '{}', kill } = {}) {
  const log = file('', '.log');
  fs.rmSync(log);
  const application = file(`
    import { attach } from CLIENT;
    import { setTimeout as wait } from 'node:timers/promises';
    const recorder = attach({ daemon: JSON.parse(process.env.DAEMON), out: ${JSON.stringify(path.dirname(log))}, ...${options} });
    const f = recorder.wrap('f', async (event, ctx) => ctx.respond('a', () => event));
    const until = async (holds) => { while (!holds()) await wait(5); };
    const opened = () => until(() => recorder.stats().path !== null);
    const flushed = () => until(() => recorder.stats().queuedBytes === 0);
    ${source}
  `);
  const env = { ...process.env, DAEMON: JSON.stringify(serving(log, ...modes)) };
  const child = spawn(process.execPath, [application], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
    if (kill !== undefined && stdout.includes('now')) child.kill(kill);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  const began = Date.now();
  const [code, signal] = await new Promise((resolve) => child.on('close', (...status) => resolve(status)));
  clearTimeout(late);
  const took = Date.now() - began;
  await daemonsEnd(log);
  return {
    code,
    signal,
    stdout,
    stderr,
    took,
    log,
    calls: callsOf(log),
    methods: framesOf(log).map(({ method }) => method),
  };
}

// A daemon that is left behind is a failure of its own.
async function daemonsEnd(log) {
  const name = `${log}.pid`;
  if (!fs.existsSync(name)) return;
  const pid = Number(fs.readFileSync(name, 'utf8'));
  const deadline = Date.now() + PATIENCE_MS;
  while (isAlive(pid)) {
    if (Date.now() > deadline) {
      process.kill(pid, 'SIGKILL');
      throw new Error('the daemon outlived its application');
    }
    await wait(5);
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(
    fs.existsSync(`/proc/${pid}/status`) ? fs.readFileSync(`/proc/${pid}/status`, 'utf8') : '',
  );
}

const CLOSED = ['session.close', 'shutdown', 'exit'];

function check(name, source, { options, status = { code: 0, signal: null }, outputs, ends = CLOSED, ...rest }) {
  test(name, async () => {
    const ended = await run(source, { options, ...rest });
    assert.deepEqual({ code: ended.code, signal: ended.signal }, status, ended.stderr);
    assert.deepEqual(
      ended.calls.map(({ output }) => output),
      outputs,
    );
    assert.deepEqual(ended.methods.slice(-ends.length || Infinity), ends);
  });
}

check('an application that is done before its daemon has started', 'f(1);', { outputs: [1] });

check(
  'an application that exits in the middle of its turn',
  'await f(1); await opened(); f(2).then(() => process.exit(3));',
  {
    outputs: [1, 2],
    status: { code: 3, signal: null },
  },
);

check('an application that exits at once', 'f(1).then(() => process.exit(0));', { outputs: [1] });

check('a daemon that is slow to open', 'f(1);', { modes: ['late=400'], outputs: [1] });

check('a crash', 'await f(1); setTimeout(() => { throw new Error("crash"); });', {
  outputs: [1],
  status: { code: 1, signal: null },
});

check(
  'a rejection that nobody handles',
  'await f(1); recorder.wrap("g", async () => { throw new Error("crash"); })(2);',
  {
    outputs: [1, undefined],
    status: { code: 1, signal: null },
  },
);

check(
  'a call that is still open stays unfinished',
  'await f(1); f(new Promise(() => {})); recorder.wrap("g", () => new Promise(() => {}))(3);',
  {
    outputs: [1, undefined, undefined],
  },
);

check('more than a pipe holds', 'for (let i = 0; i < 40; i++) f("x".repeat(50_000));', {
  outputs: Array(40).fill('x'.repeat(50_000)),
});

check(
  'more than a pipe holds, and an exit while it is full',
  'await f(1); await opened(); for (let i = 0; i < 40; i++) await f("x".repeat(50_000)); process.exit(0);',
  {
    outputs: [1, ...Array(40).fill('x'.repeat(50_000))],
  },
);

check(
  'closed before',
  'await f(1); console.log(JSON.stringify(await recorder.close())); await f(2); console.log(recorder.stats().recording);',
  {
    outputs: [1],
  },
);

check('one frame a call', 'await f(1); await f(2); process.exit(0);', {
  options: '{ durability: "call" }',
  outputs: [1, 2],
});

check('calls of an exit listener', 'process.on("exit", () => recorder.wrap("late", () => 9)(0)); await f(1);', {
  outputs: [1, 9],
});

check(
  'killed: what was finished is there',
  'await f(1); await opened(); await f(2); await flushed(); console.log("now"); await wait(1e6);',
  {
    outputs: [1, 2],
    status: { code: null, signal: 'SIGKILL' },
    kill: 'SIGKILL',
    ends: ['call.end'],
  },
);

check(
  'a signal that ends it',
  'await f(1); await opened(); await f(2); await flushed(); console.log("now"); await wait(1e6);',
  {
    outputs: [1, 2],
    status: { code: null, signal: 'SIGTERM' },
    kill: 'SIGTERM',
    ends: ['call.end'],
  },
);

test('a daemon that answers nothing holds the end up no longer than exitMs', async () => {
  const { code, took, stderr } = await run('await f(1);', { modes: ['mute'], options: '{ exitMs: 300 }' });
  assert.equal(code, 0);
  assert.ok(took < 5000, String(took));
  assert.match(stderr, /nothing is recorded: .*ended before it was ready/);
});

test('a daemon that cannot be started is said of an application that ends at once', async () => {
  const { code, stderr } = await run('f(1).then(() => process.exit(0));', {
    options: '{ daemon: [process.execPath, "-e", "console.error(\'No module named playhead\'); process.exit(1)"] }',
  });
  assert.equal(code, 0);
  assert.match(stderr, /nothing is recorded: .*No module named playhead/);
});

test('a recorder keeps nothing alive, and is heard to its end', async () => {
  const { code, took, methods } = await run('await f(1); await opened(); console.log(recorder.stats().path);', {});
  assert.equal(code, 0);
  assert.ok(took < 5000, String(took));
  assert.deepEqual(methods.slice(-3), CLOSED);
});

test('workers of a cluster attach each for itself', async () => {
  const log = file('', '.log');
  fs.rmSync(log);
  const application = file(`
    import cluster from 'node:cluster';
    import { attach } from CLIENT;
    const daemon = (log) => JSON.parse(process.env.DAEMON).map((word) => (word === 'LOG' ? log : word));
    const recorder = attach({ daemon: daemon(process.env.LOG + (cluster.worker?.id ?? 0)), out: ${JSON.stringify(path.dirname(log))} });
    const f = recorder.wrap('f', (event) => event);
    if (cluster.isPrimary) {
      f('primary');
      for (let i = 0; i < 2; i++) cluster.fork();
    } else {
      f('worker' + cluster.worker.id);
      cluster.worker.disconnect();
    }
  `);
  const env = { ...process.env, DAEMON: JSON.stringify(serving('LOG')), LOG: log };
  const child = spawn(process.execPath, [application], { env, stdio: 'inherit' });
  assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
  for (const [n, event] of ['primary', 'worker1', 'worker2'].entries()) {
    await daemonsEnd(`${log}${n}`);
    assert.deepEqual(
      callsOf(`${log}${n}`).map(({ output }) => output),
      [event],
    );
  }
});
