// What the host serves, and what it says of a file that it cannot serve.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { CLIENT, Daemon, HOST, file, recording, withHost } from './daemon.mjs';

const SERVED = {
  'a default export': ['export default (e) => e;', '.mjs', ['handler']],
  'an export named handler': ['export const handler = (e) => e;', '.mjs', ['handler']],
  'CommonJS, module.exports': ['module.exports = (e) => e;', '.cjs', ['handler']],
  'CommonJS, exports.handler': ['exports.handler = (e) => e;', '.cjs', ['handler']],
  'CommonJS from TypeScript': [
    'Object.defineProperty(exports, "__esModule", { value: true }); exports.default = (e) => e;',
    '.cjs',
    ['handler'],
  ],
  'a .js file': ['module.exports = (e) => e;', '.js', ['handler']],
  'functions by name': ['export const functions = { one: (e) => e, two: () => 2 };', '.mjs', ['one', 'two']],
  'functions and a default': [
    'export default (e) => e; export const functions = { two: () => 2 };',
    '.mjs',
    ['handler', 'two'],
  ],
  'CommonJS functions': [
    'const two = () => 2; module.exports = { functions: { one: (e) => e, two } };',
    '.cjs',
    ['one', 'two'],
  ],
};

for (const [name, [source, suffix, functions]] of Object.entries(SERVED)) {
  test(`served: ${name}`, async () => {
    const daemon = new Daemon([HOST, file(source, suffix)]);
    try {
      const { result } = await daemon.initialize();
      assert.deepEqual(result.functions, functions);
      assert.deepEqual((await daemon.call([1], undefined, { fn: functions[0] })).output, [1]);
      assert.equal((await daemon.end()).code, 0);
    } finally {
      daemon.kill();
    }
  });
}

const REFUSED = {
  'no such file': ['./nowhere.mjs', /cannot load .*nowhere\.mjs/],
  'no such package': ['no-such-package', /cannot load no-such-package/],
  'a syntax error': [file('export default (e => e;'), /h\d+\.mjs:1\n.*SyntaxError/s],
  'an error while loading': [file("throw new TypeError('at load');"), /TypeError: at load/],
  'no handler': [file('export const other = 1;'), /has no handler/],
  'a function that is none': [file('export const functions = { one: 1 };'), /one is not a function/],
  'TypeScript on a Node without it': [file('export default (e: number) => e;', '.ts'), /TypeScript needs Node/],
};

for (const [name, [specifier, message]] of Object.entries(REFUSED)) {
  test(
    `refused before initialize: ${name}`,
    { skip: name.startsWith('TypeScript') && Boolean(process.features.typescript) },
    async () => {
      // Not in this package's folder: the tsx that it is tested with would be found.
      const daemon = new Daemon([HOST, specifier], { cwd: os.tmpdir() });
      try {
        const { code, stderr } = await daemon.exited;
        assert.equal(code, 1);
        assert.match(stderr, message);
        assert.ok(stderr.startsWith('playhead-client: ') && stderr.split('\n').length < 9, stderr);
        assert.equal(await daemon.next(), null);
      } finally {
        daemon.kill();
      }
    },
  );
}

test('a package is found from the working directory', async () => {
  const cwd = path.join(path.dirname(file('')), 'project');
  const home = path.join(cwd, 'node_modules/some-handler');
  fs.mkdirSync(home, { recursive: true });
  fs.writeFileSync(path.join(home, 'package.json'), '{"name":"some-handler","main":"main.cjs"}');
  fs.writeFileSync(path.join(home, 'main.cjs'), 'module.exports = () => "found";');
  await withHost('some-handler', async (daemon) => assert.equal((await daemon.call(null)).output, 'found'), { cwd });
});

test("the user's tsx reads TypeScript", { skip: process.features.typescript ? 'this Node reads it itself' : false }, async () => {
  const cwd = path.join(path.dirname(file('')), 'typed');
  fs.mkdirSync(cwd, { recursive: true });
  // All of them: tsx finds what it needs beside itself.
  fs.symlinkSync(path.join(CLIENT, 'node_modules'), path.join(cwd, 'node_modules'));
  fs.writeFileSync(path.join(cwd, 'h.ts'), 'export default (n: number): number => n + 1;');
  await withHost('h.ts', async (daemon) => assert.equal((await daemon.call(1)).output, 2), { cwd });
});

const EXAMPLES = { 'charge.mjs': true, 'charge.cjs': true, 'charge_drifted.mjs': false };

for (const [name, approved] of Object.entries(EXAMPLES)) {
  test(`example ${name}`, () =>
    withHost(path.join(CLIENT, 'examples', name), async (daemon) => {
      const { output } = await daemon.call({ amount: 1000 }, recording());
      assert.deepEqual(output, { receivedAt: 1000, sampled: false, approved, balance: 0 });
    }));
}

test('example fan_out.mjs', () =>
  withHost(path.join(CLIENT, 'examples/fan_out.mjs'), async (daemon) => {
    const { output } = await daemon.call(
      { shops: { far: { price: 10, ms: 40 }, near: { price: 20, ms: 1 } } },
      recording(),
    );
    assert.deepEqual(output, { first: 'near', order: ['near', 'far'], shipping: [1, 2], done: 1002 });
  }));
