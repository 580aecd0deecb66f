// What a call costs whose answers come with it, in CPU time of the handler's process: one clock reading, one draw, one
// answer of 300 bytes that is awaited. Beside it JSON.parse of such a call's line alone, in the same run.
//   taskset -c 0 node bench/windows.mjs
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { HOST, handler, pipePair } from '../test/daemon.mjs';

const ROUNDS = 7;
const N = 12_800;
const AHEAD = 64; // calls in one write

const SOURCE = `async (event, ctx) => {
  const at = ctx.now();
  const draw = ctx.random();
  const account = await ctx.respond('account', () => (${JSON.stringify(account(0))}), { args: [event.id] });
  return { at, draw, balance: account.balance };
}`;

function account(n) {
  const limits = { day: 100, month: 1000 };
  return { id: `acct_${n}`, balance: n * 3, owner: 'Somebody', note: 'x'.repeat(180), tags: ['a', 'b', 'c'], limits };
}

const window = (n) => ({ now: [1783036800000 + n], random: [0.26 + n / 1e6] });
const WINDOWS = {
  'answers from windows': (n) => ({ ...window(n), respond: { account: [{ value: account(n) }] } }),
  'answers produced, and not waited for': (n) => ({ ...window(n), produce: true }),
};

const line = (n, of) => {
  const params = { call: n, fn: 'handler', event: { id: `acct_${n}`, amount: n }, seq: n, window: of(n) };
  return `${JSON.stringify({ jsonrpc: '2.0', id: n, method: 'handle', params })}\n`;
};

class Handler {
  #bytes = Buffer.alloc(1 << 20);
  #number = 0;

  constructor() {
    const down = pipePair();
    const up = pipePair();
    this.child = spawn(process.execPath, [HOST, handler(SOURCE)], { stdio: [down.read, up.write, 'inherit'] });
    fs.closeSync(down.read);
    fs.closeSync(up.write);
    this.down = down.write;
    this.up = up.read;
    const offer = { protocol: 1, capabilities: { window: true } };
    fs.writeSync(this.down, `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: offer })}\n`);
    this.#read(1);
  }

  // Until so many answers have come.
  #read(answers) {
    for (let seen = 0; seen < answers;) {
      const text = this.#bytes.latin1Slice(0, fs.readSync(this.up, this.#bytes));
      seen += text.split('"result":').length - 1;
    }
  }

  #run(of, calls) {
    for (let done = 0; done < calls; done += AHEAD) {
      let text = '';
      for (let i = 0; i < AHEAD; i++) text += line(this.#number++, of);
      fs.writeSync(this.down, text);
      this.#read(AHEAD);
    }
  }

  // Nanoseconds, of all its threads.
  #cpu() {
    const tasks = `/proc/${this.child.pid}/task`;
    const times = fs.readdirSync(tasks).map((id) => fs.readFileSync(`${tasks}/${id}/schedstat`, 'utf8'));
    return times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0);
  }

  measure(of) {
    const before = this.#cpu();
    this.#run(of, N);
    return (this.#cpu() - before) / N / 1000;
  }

  close() {
    fs.closeSync(this.down);
    fs.closeSync(this.up);
  }
}

let sum = 0;

function parsing() {
  const text = line(1234, WINDOWS['answers from windows']);
  const before = process.cpuUsage();
  for (let i = 0; i < N; i++) sum += JSON.parse(text).id;
  const { user, system } = process.cpuUsage(before);
  return (user + system) / N;
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
const subjects = Object.entries(WINDOWS).map(([name, of]) => ({ name, of, handler: new Handler(), times: [] }));
for (let i = 0; i < 3; i++) for (const { of, handler: each } of subjects) each.measure(of); // warm
parsing();
const parses = [];
for (let round = 0; round < ROUNDS; round++) {
  for (const { of, handler: each, times } of subjects) times.push(each.measure(of));
  parses.push(parsing());
}
const parse = median(parses);
console.log(`${'JSON.parse of the line alone'.padEnd(40)} ${parse.toFixed(1).padStart(6)} us`);
for (const { name, handler: each, times } of subjects) {
  const us = median(times);
  console.log(`${name.padEnd(40)} ${us.toFixed(1).padStart(6)} us   ${(us / parse).toFixed(1)} times that`);
  each.close();
}
