// The pipes: prints, sizes, the end, and the same through a worker and over sockets.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Daemon, HOST, file, handler, recording, withHost } from './daemon.mjs';

const WAYS = {
  pipes: {},
  'a worker': { env: { PLAYHEAD_CLIENT_READER: 'worker' } },
  sockets: { pipes: 'socket' },
};

const EIGHT_MIB = 8 << 20;

for (const [way, options] of Object.entries(WAYS)) {
  const over = (name, source, script) => test(`over ${way}: ${name}`, () => check(source, script, options));

  over(
    'the clock is read while answers are open',
    `async (event, ctx) => {
    const open = [1, 2, 3].map((n) => ctx.respond('k', async () => n));
    const before = [ctx.now(), ctx.random(), ctx.now()];
    return [before, await Promise.all(open), ctx.now()];
  }`,
    async (daemon) => {
      const { output, told } = await daemon.call(null, recording());
      assert.deepEqual(output, [[1000, 0.5, 1001], [1, 2, 3], 1002]);
      assert.deepEqual(
        told.slice(0, 6).map(({ method }) => method),
        ['respond', 'respond', 'respond', 'now', 'random', 'now'],
      );
    },
  );

  over(
    'what the handler prints is on stderr, whole',
    `(event) => {
    console.log('logged');
    process.stdout.write('written\\n');
    console.log('x'.repeat(300000));
    console.table([{ a: 1 }]);
    return event;
  }`,
    async (daemon) => {
      assert.equal((await daemon.call('e')).output, 'e');
      const { stderr } = await daemon.end();
      assert.match(stderr, /^logged\nwritten\nx{300000}\n/);
    },
  );

  over(
    'the handler reads an empty stdin',
    `async () => {
    let text = '';
    for await (const chunk of process.stdin) text += chunk;
    return text;
  }`,
    async (daemon) => assert.equal((await daemon.call(null)).output, ''),
  );

  over(
    '8 MiB both ways at once',
    `async (event, ctx) => {
    const open = ctx.respond('big', () => 0, { args: [event] });
    const at = ctx.now();
    return [(await open) === event, at];
  }`,
    async (daemon) => {
      const event = 'é'.repeat(EIGHT_MIB / 2);
      const { output } = await daemon.call(event, (message, to) => {
        if (message.method === 'now') return 7;
        assert.equal(message.params.args[0], event);
        to.send({ method: 'ignored', params: { text: event } });
        return { value: event };
      });
      assert.deepEqual(output, [true, 7]);
    },
  );

  over(
    'the same through a synchronous question',
    `(event, ctx) => {
    let bytes = 0;
    for (let i = 0; i < 3; i++) bytes += ctx.randbytes(1 << 20).length;
    ctx.note('big', event);
    return bytes;
  }`,
    async (daemon) => {
      const { output, told } = await daemon.call('y'.repeat(EIGHT_MIB), (message) => 'ab'.repeat(message.params.n));
      assert.equal(output, 3 << 20);
      assert.equal(told.at(-1).params.data.length, EIGHT_MIB);
    },
  );

  over('texts come back as they went', `(event) => event`, async (daemon) => {
    const event = {
      '\u2028': ['\u2029\u0085\r\n\t\0', '\ud800', 'a\udfffb', '\ufffd', '😀', '\u007f'],
      '\ud83d': 1e-7,
    };
    assert.deepEqual((await daemon.call(event)).output, event);
  });

  over('a frame in pieces, with CR LF', `(event) => event`, async (daemon) => {
    const text =
      '{"jsonrpc":"2.0","id":9,"method":"handle","params":{"call":1,"fn":"handler","event":"é","seq":0}}\r\n\r\n\n';
    const bytes = Buffer.from(text);
    for (let i = 0; i < bytes.length; i += 9) {
      daemon.input.write(bytes.subarray(i, i + 9));
      await new Promise(setImmediate);
    }
    assert.deepEqual(await daemon.next(), { jsonrpc: '2.0', id: 9, result: { output: 'é' } });
  });

  over(
    'the end while it waits for a promise',
    `() => new Promise(() => setInterval(() => {}, 1000))`,
    async (daemon) => {
      daemon.handle(null);
      assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr: '' });
    },
  );

  over(
    'the end inside a synchronous question',
    `(event, ctx) => { console.error('asking'); ctx.now(); }`,
    async (daemon) => {
      daemon.handle(null);
      assert.equal((await daemon.next()).method, 'now');
      assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr: 'asking\n' });
    },
  );

  over('the end in the middle of a frame', `(event, ctx) => ctx.now()`, async (daemon) => {
    daemon.handle(null);
    await daemon.next();
    daemon.raw('{"jsonrpc":"2.0","id":1,"res');
    assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr: '' });
  });

  over("the handler's own exit code stays", `() => process.exit(7)`, async (daemon) => {
    daemon.handle(null);
    assert.equal(await daemon.next(), null);
    assert.equal((await daemon.exited).code, 7);
  });
}

test('over pipes: children and raw descriptors write to stderr, and read nothing', () =>
  check(
    `() => { writeSync(1, 'raw\\n'); return spawnSync('sh', ['-c', 'echo child; cat'], { stdio: 'inherit' }).status; }`,
    async (daemon) => {
      assert.equal((await daemon.call(null)).output, 0);
      assert.equal((await daemon.end()).stderr, 'raw\nchild\n');
    },
    {},
    `import { writeSync } from 'node:fs'; import { spawnSync } from 'node:child_process';`,
  ));

test('what the file prints while it loads is on stderr', () =>
  check(
    `() => 1`,
    async (daemon) => {
      assert.equal((await daemon.call(null)).output, 1);
      assert.equal((await daemon.end()).stderr, 'loading\n');
    },
    {},
    `console.log('loading');`,
  ));

test('a program that calls serve itself, after it has used stdout', async () => {
  const program = file(`
    import { stdout } from 'node:process';
    import { serve } from CLIENT;
    serve({ double: (n) => { stdout.write('printed\\n'); return 2 * n; } }, { name: 'own' });
  `);
  const daemon = new Daemon([program]);
  try {
    const { result } = await daemon.initialize();
    assert.deepEqual([result.handler.name, result.functions], ['own', ['double']]);
    assert.equal((await daemon.call(4, undefined, { fn: 'double' })).output, 8);
    assert.deepEqual(await daemon.end(), { code: 0, signal: null, stderr: 'printed\n' });
  } finally {
    daemon.kill();
  }
});

const UNREADABLE = [
  ['text that is no JSON', 'hello', -32700, /Unexpected token/],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700, /invalid UTF-8 at byte 1/],
  ['a batch', '[]', -32600, /no object/],
  ['an id that is none', '{"jsonrpc":"2.0","id":2.5,"method":"shutdown","params":{}}', -32600, /an id/],
];

for (const [what, line, code, why] of UNREADABLE) {
  for (const busy of [false, true]) {
    test(`${what}, ${busy ? 'while a handler waits' : 'between calls'}: told on both sides, and the end`, async () => {
      const daemon = new Daemon([HOST, handler('(event, ctx) => ctx.now()')]);
      try {
        await daemon.initialize();
        if (busy) {
          daemon.handle(null);
          await daemon.next();
        }
        daemon.input.write(line);
        daemon.raw('\n');
        const { id, error } = await daemon.next();
        assert.deepEqual([id, error.code], [null, code]);
        assert.equal(await daemon.next(), null);
        const end = await daemon.exited;
        assert.equal(end.code, 1);
        assert.match(end.stderr, why);
      } finally {
        daemon.kill();
      }
    });
  }
}

function check(source, script, options, more) {
  return withHost(handler(source, more), script, options);
}
