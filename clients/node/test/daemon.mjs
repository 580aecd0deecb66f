// A scripted daemon for the tests: starts a handler as a real process over real pipes and speaks line by line. Node's
// own `stdio: 'pipe'` is a socket pair; the daemon's pipes are pipes, so these are FIFOs unless a test asks for
// sockets.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const CLIENT = fileURLToPath(new URL('..', import.meta.url));
export const HOST = path.join(CLIENT, 'host.mjs');

const PATIENCE_MS = 20_000;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'playhead-node-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** The path of a new file with `source` in it. `CLIENT` in the source stands for the package's index. */
export function file(source, suffix = '.mjs') {
  const name = path.join(folder, `h${++files}${suffix}`);
  fs.writeFileSync(name, source.replaceAll('CLIENT', JSON.stringify(path.join(CLIENT, 'index.mjs'))));
  return name;
}

/** An async arrow function's source, `(event, ctx) => ...`, as a file that exports it. */
export const handler = (source, more = '') => file(`${more}\nexport default ${source};\n`);

export function pipePair() {
  const name = path.join(folder, `pipe${++files}`);
  execFileSync('mkfifo', [name]);
  const both = fs.openSync(name, 'r+'); // so that neither of the next two waits for the other
  const pair = { read: fs.openSync(name, 'r'), write: fs.openSync(name, 'w') };
  fs.closeSync(both);
  return pair;
}

export class Daemon {
  #lines = [];
  #waiting = null;
  #partial = '';
  #ids = 0;
  #calls = 0;
  stderr = '';

  /** `argv` is what follows `node`. `pipes`: "fifo" or "socket". */
  constructor(argv, { env = {}, pipes = 'fifo', cwd } = {}) {
    const options = { cwd, env: { ...process.env, ...env } };
    if (pipes === 'socket') {
      this.child = spawn(process.execPath, argv, { ...options, stdio: 'pipe' });
      this.input = this.child.stdin;
      this.output = this.child.stdout;
      this.errors = this.child.stderr;
    } else {
      const down = pipePair();
      const up = pipePair();
      const aside = pipePair();
      this.child = spawn(process.execPath, argv, { ...options, stdio: [down.read, up.write, aside.write] });
      for (const fd of [down.read, up.write, aside.write]) fs.closeSync(fd);
      this.input = new net.Socket({ fd: down.write, readable: false, writable: true });
      this.output = new net.Socket({ fd: up.read, readable: true, writable: false });
      this.errors = new net.Socket({ fd: aside.read, readable: true, writable: false });
    }
    this.input.on('error', () => {});
    this.output
      .setEncoding('utf8')
      .on('data', (text) => this.#arrived(text))
      .on('end', () => this.#line(null));
    const silent = new Promise((resolve) => this.errors.on('end', resolve));
    this.errors.setEncoding('utf8').on('data', (text) => (this.stderr += text));
    const gone = new Promise((resolve) => this.child.on('exit', (code, signal) => resolve({ code, signal })));
    this.exited = Promise.all([gone, silent]).then(([status]) => ({ ...status, stderr: this.stderr }));
  }

  raw(text) {
    this.input.write(text);
  }

  send(message) {
    this.raw(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }

  request(method, params) {
    const id = `d${++this.#ids}`;
    this.send({ id, method, params });
    return id;
  }

  /** The next message of the handler; null at the end of its output. */
  async next() {
    const line = this.#lines.length > 0 ? this.#lines.shift() : await this.#wait();
    return line === null ? null : JSON.parse(line);
  }

  async initialize(
    params = { protocol: 1, daemon: { name: 'test', version: '1' }, capabilities: {}, limits: {}, constants: {} },
  ) {
    this.request('initialize', params);
    return this.next();
  }

  handle(event, { fn = 'handler', window = undefined } = {}) {
    const call = ++this.#calls;
    return { call, id: this.request('handle', { call, fn, event, seq: call - 1, window }) };
  }

  /** One call: `answer(message)` gives the result of each request, {fault: {...}}, or undefined to leave it open. */
  async call(event, answer = noAnswer, options = {}) {
    const { id } = this.handle(event, options);
    const told = [];
    for (;;) {
      const message = await this.next();
      if (message === null) throw new Error(`the handler ended: ${JSON.stringify(await this.exited)}`);
      if (message.method === undefined && message.id === id) return { ...message.result, fault: message.error, told };
      told.push(message);
      if (message.id === undefined) continue;
      const result = answer(message, this);
      if (result?.fault !== undefined) this.send({ id: message.id, error: result.fault });
      else if (result !== undefined) this.send({ id: message.id, result });
    }
  }

  /** Closes the handler's stdin and waits for its end. */
  async end() {
    this.input.end();
    this.input.destroySoon?.();
    return this.exited;
  }

  kill() {
    this.child.kill('SIGKILL');
    this.input.destroy();
    this.output.destroy();
    this.errors.destroy();
  }

  #arrived(text) {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop();
    lines.forEach((line) => this.#line(line));
  }

  #line(line) {
    if (this.#waiting === null) return this.#lines.push(line);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting(line);
  }

  #wait() {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`nothing came; stderr: ${this.stderr}`)), PATIENCE_MS);
      this.#waiting = (line) => {
        clearTimeout(late);
        resolve(line);
      };
    });
  }
}

function noAnswer(message) {
  throw new Error(`nobody answers ${message.method}`);
}

/** Runs `script(daemon)` against a file served by the host, and ends the process whatever happens. Gives its exit. */
export async function withHost(name, script, options = {}) {
  const daemon = new Daemon([HOST, name], options);
  try {
    await daemon.initialize();
    await script(daemon);
    return await daemon.end();
  } finally {
    daemon.kill();
  }
}

/** Answers as a record does: counting clock, seed-like draws, every producer run. */
export function recording() {
  let time = 1000;
  return ({ method }) => {
    if (method === 'now') return time++;
    if (method === 'random') return 0.5;
    if (method === 'respond') return { produce: true };
    return {};
  };
}
