// As good as a fresh process: which handlers offer it, what is new afterwards, and what is said where it fails.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { CLIENT, Daemon, HOST, file } from './daemon.mjs';

const OFFER = { protocol: 1, capabilities: { window: true, reset: true } };

const COUNTER = `let calls = 0;\nexport default () => ++calls;\n`;

/** `script(daemon, offered)` against a process that has answered `initialize`. */
async function withHandlers(argv, script, options, stderr = '') {
  const daemon = new Daemon(argv, options);
  try {
    const { result } = await daemon.initialize(OFFER);
    await script(daemon, result.capabilities);
    assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr });
  } finally {
    daemon.kill();
  }
}

async function reset(daemon, constants = {}) {
  daemon.request('reset', { constants });
  const { result, error } = await daemon.next();
  return result ?? error;
}

function countsAnew(what, argv, options = {}) {
  test(`memory is gone after a reset: ${what}`, options.skip === undefined ? {} : { skip: options.skip }, () =>
    withHandlers(argv(), async (daemon, offered) => {
      assert.deepEqual(offered, { window: true, reset: true });
      for (let round = 0; round < 3; round++) {
        assert.deepEqual([(await daemon.call(null)).output, (await daemon.call(null)).output], [1, 2]);
        assert.deepEqual(await reset(daemon), {});
      }
    }),
  );
}

countsAnew('a module', () => [HOST, file(COUNTER)]);
countsAnew('a CommonJS module', () => [HOST, file(`let calls = 0;\nmodule.exports = () => ++calls;\n`, '.cjs')]);
countsAnew('functions by name', () => [
  HOST,
  file(`let calls = 0;\nexport const functions = { handler: () => ++calls };\n`),
]);
countsAnew('an exported reset, which may be async', () => [
  HOST,
  file(`globalThis.calls = 0;
export default () => ++globalThis.calls;
export const reset = async () => { await null; globalThis.calls = 0; return { other: 1 }; };
`),
]);
countsAnew('a program of its own', () => [
  file(`import { serve } from CLIENT;\nlet calls = 0;\nserve(() => ++calls, { reset() { calls = 0; } });\n`),
]);
countsAnew('a program that gives other functions', () => [
  file(`import { serve } from CLIENT;
const create = () => { let calls = 0; return { handler: () => ++calls }; };
serve(create(), { reset: create });
`),
]);

const TSX = path.join(CLIENT, 'node_modules/tsx');
const skip = !process.features.typescript && !fs.existsSync(TSX);
countsAnew(
  'a TypeScript module',
  () => {
    // Beside the client's tsx, where Node reads no TypeScript itself.
    const name = file(`let calls: number = 0;\nexport default (): number => ++calls;\n`, '.ts');
    if (!process.features.typescript) {
      const modules = path.join(path.dirname(name), 'node_modules');
      if (!fs.existsSync(modules)) fs.symlinkSync(path.join(CLIENT, 'node_modules'), modules);
    }
    return [HOST, name];
  },
  { skip },
);

test('the feed is empty after a reset, and so are the revivers of before', () => {
  const source = `const made = Math.random();
export const revivers = { Odd: (e) => Object.assign(new Error(e.message), { made }) };
export default async (event, ctx) => {
  if (event === 'now') return ctx.now();
  return (await ctx.respond('odd', () => 0).catch((e) => e.made)) === made;
};
`;
  return withHandlers([HOST, file(source)], async (daemon) => {
    const odd = { respond: { odd: [{ error: { type: 'Odd', message: '' } }] } };
    assert.equal((await daemon.call(null, undefined, { window: { ...odd, now: [1, 2] } })).output, true);
    assert.deepEqual(await reset(daemon), {});
    assert.equal((await daemon.call('now', () => 3)).output, 3);
    assert.equal((await daemon.call(null, undefined, { window: odd })).output, true);
  });
});

test('an exported reset is given the constants of the daemon', () => {
  const source = `let given = null;
export const reset = (constants) => { given = constants; };
export default () => given;
`;
  return withHandlers([HOST, file(source)], async (daemon) => {
    assert.deepEqual(await reset(daemon, { zone: 'UTC' }), {});
    assert.deepEqual((await daemon.call(null)).output, { zone: 'UTC' });
  });
});

test('a handle that comes while it is being done waits for it', () => {
  const source = `let calls = 5;
export const reset = async () => { await new Promise(setImmediate); calls = 0; };
export default () => ++calls;
`;
  return withHandlers([HOST, file(source)], async (daemon) => {
    daemon.request('reset', { constants: {} });
    daemon.handle(null);
    assert.deepEqual([(await daemon.next()).result, (await daemon.next()).result], [{}, { output: 1 }]);
  });
});

const NO_RESET = `import { serve } from CLIENT;\nserve(() => 1);\n`;

test('handlers that cannot be made new do not offer it', () =>
  withHandlers([file(NO_RESET)], async (daemon, offered) => {
    assert.deepEqual(offered, { window: true });
    assert.equal((await reset(daemon)).code, -32601);
  }));

test('a package offers it only by its own reset: what it imports cannot be loaded anew', () => {
  const cwd = fs.mkdtempSync(path.join(path.dirname(file('')), 'app-'));
  const folder = path.join(cwd, 'node_modules/counter');
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'package.json'), '{"name":"counter","type":"module","exports":"./index.js"}');
  fs.writeFileSync(path.join(folder, 'index.js'), COUNTER);
  const check = async (daemon, offered) => assert.deepEqual(offered, { window: true });
  return withHandlers([HOST, 'counter'], check, { cwd });
});

test('it is refused while a call is open', () =>
  withHandlers([HOST, file(`export default (event, ctx) => ctx.respond('slow', () => 1);\n`)], async (daemon) => {
    daemon.handle(null);
    const { id } = await daemon.next();
    assert.equal((await reset(daemon)).code, -32600);
    daemon.send({ id, result: { value: 1 } });
    assert.deepEqual((await daemon.next()).result, { output: 1 });
  }));

test('functions may not be lost by it', () => {
  const source = `import { serve } from CLIENT;\nserve({ a: () => 1, b: () => 2 }, { reset: () => ({ a: () => 3 }) });\n`;
  return withHandlers([file(source)], async (daemon) => {
    const { code, message } = await reset(daemon);
    assert.deepEqual([code, message], [-32603, 'the new handlers have no function named b']);
    assert.equal((await daemon.call(null, undefined, { fn: 'a' })).output, 1);
  });
});

test('one that fails says so, and why on stderr', () => {
  const source = `export const reset = () => { throw new TypeError('no such luck'); };\nexport default () => 1;\n`;
  const script = async (daemon) => {
    const { code, message, data } = await reset(daemon);
    assert.deepEqual([code, message], [-32603, 'the handlers could not be made new']);
    assert.deepEqual(data, { reference: 'stderr' });
    assert.equal((await daemon.call(null)).output, 1);
  };
  return withHandlers([HOST, file(source)], script, {}, 'playhead-client: reset: TypeError: no such luck\n');
});
