// What a context call costs, beside a bare ping-pong of 90-byte lines over the same kind of pipes in the same run.
//   taskset -c 0 node bench/cost.mjs
// One core, so that nothing of the client hides behind the daemon's work. The fake daemon's answers are ready-made.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { HOST, file, handler, pipePair } from '../test/daemon.mjs';

const ROUNDS = 5;
const N = 20_000;

const PING = file(`
import fs from 'node:fs';
const input = fs.openSync('/proc/self/fd/0', 'r');
const line = Buffer.from('y'.repeat(89) + '\\n');
const bytes = Buffer.alloc(65536);
for (;;) {
  const n = fs.readSync(input, bytes, 0, 65536, null);
  if (n === 0) break;
  fs.writeSync(1, line, 0, 90, null);
}
`);

const SUBJECTS = {
  'bare ping-pong': null,
  'ctx.now()': handler(`(n, ctx) => { let x = 0; for (let i = 0; i < n; i++) x += ctx.now(); return x; }`),
  'await ctx.respond(), replay': handler(
    `async (n, ctx) => { let x = 0; for (let i = 0; i < n; i++) x += await ctx.respond('account.balance', () => 1); return x; }`,
  ),
  'await ctx.respond(), record (with its settle)': handler(
    `async (n, ctx) => { let x = 0; for (let i = 0; i < n; i++) x += await ctx.respond('account.balance', () => 1); return x; }`,
  ),
  'an empty synchronous call': handler(`() => 1`),
  'an empty asynchronous call': handler(`async () => 1`),
};

class Child {
  #bytes = Buffer.alloc(1 << 20);
  #held = '';

  constructor(argv) {
    const down = pipePair();
    const up = pipePair();
    this.process = spawn(process.execPath, argv, { stdio: [down.read, up.write, 'inherit'], env: { ...process.env } });
    fs.closeSync(down.read);
    fs.closeSync(up.write);
    this.write = down.write;
    this.read = up.read;
  }

  send(text) {
    fs.writeSync(this.write, text);
  }

  line() {
    for (;;) {
      const at = this.#held.indexOf('\n');
      if (at !== -1) {
        const line = this.#held.slice(0, at);
        this.#held = this.#held.slice(at + 1);
        return line;
      }
      this.#held += this.#bytes.latin1Slice(0, fs.readSync(this.read, this.#bytes));
    }
  }

  close() {
    fs.closeSync(this.write);
    fs.closeSync(this.read);
  }
}

const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1}}\n';
const ID = /"id":(\d+)/;

function measure(name, child, n) {
  const ping = Buffer.from('x'.repeat(89) + '\n');
  const start = process.hrtime.bigint();
  if (name.startsWith('bare')) {
    for (let i = 0; i < n; i++) {
      fs.writeSync(child.write, ping, 0, 90);
      child.line();
    }
  } else if (name.startsWith('an empty')) {
    for (let i = 0; i < n; i++) {
      child.send(
        `{"jsonrpc":"2.0","id":2,"method":"handle","params":{"call":${i},"fn":"handler","event":1,"seq":0}}\n`,
      );
      child.line();
    }
  } else {
    const record = name.includes('record');
    child.send(
      `{"jsonrpc":"2.0","id":"h","method":"handle","params":{"call":1,"fn":"handler","event":${n},"seq":0}}\n`,
    );
    for (;;) {
      const line = child.line();
      if (line.startsWith('{"jsonrpc":"2.0","id":"h"')) break;
      const id = ID.exec(line)[1];
      if (line.includes('"method":"now"')) child.send(`{"jsonrpc":"2.0","id":${id},"result":1783036800000}\n`);
      else if (line.includes('"respond"'))
        child.send(`{"jsonrpc":"2.0","id":${id},"result":${record ? '{"produce":true}' : '{"value":1}'}}\n`);
      else child.send(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
    }
  }
  return Number(process.hrtime.bigint() - start) / n / 1000;
}

const children = new Map();
for (const [name, source] of Object.entries(SUBJECTS)) {
  const child = new Child(source === null ? [PING] : [HOST, source]);
  if (source !== null) {
    child.send(INITIALIZE);
    child.line();
  }
  measure(name, child, N); // warm
  children.set(name, { child, times: [] });
}
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, { child, times }] of children) times.push(measure(name, child, N));
}
const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
const ping = median(children.get('bare ping-pong').times);
for (const [name, { child, times }] of children) {
  console.log(
    `${name.padEnd(48)} ${median(times).toFixed(1).padStart(6)} us   ${(median(times) / ping).toFixed(2)} ping-pongs`,
  );
  child.close();
}
