// One daemon of an attached application: starts `playhead serve`, opens a session with it, and sends what the calls
// have to say, in one write at the end of a turn of the event loop, and while there is much of it in one write a
// millisecond. Nothing waits for it, and nothing of it keeps the process alive. When it is gone it says so once, and
// its calls go on unrecorded.
import { spawn } from 'node:child_process';
import { FrameBuffer } from './framing.mjs';
import { liveMonotonic } from './live.mjs';
import { CODE, PROTOCOL, failure, parse } from './message.mjs';
import { Outbox, readUntil } from './outbox.mjs';
import { givenGate } from './gate.mjs';

// What stands for the number of the session until the daemon has given it. Never part of a JSON text.
const UNNUMBERED = '\0';

const START_MS = 30_000;
const PATIENCE_MS = 1000;
// Between two writes of an application that is busy: each costs as much as recording three effects, and as much again
// for the daemon that it wakes. The first one goes out with the turn of the event loop.
const PAUSE_MS = 1;
const MOST_WORDS = 2048;
const MARGIN = 4096;

export class Link {
  /** The session's number as text. */
  session = UNNUMBERED;
  /** The daemon's gate, or null while it is not known. */
  gate = null;
  path = null;
  /** What the policy wants to be done where it forbids something. */
  onForbid = 'drop';
  dead = false;
  opened = false;
  startedAt = liveMonotonic();
  /** Characters of calls that wait to be sent. */
  waiting = 0;
  /** The most bytes that one frame may have. */
  largest = 64 * 1024 * 1024 - MARGIN;
  #calls = new Set(); // those that have something to send
  #aside = ''; // frames that belong to no call any more
  #limit;
  #scheduled = false;
  #sentAt = 0;
  #pause = null;
  #child;
  #outbox;
  #frames = new FrameBuffer();
  #answers = new Map(); // id -> what is done with the answer
  #ids = 0;
  #errors = '';
  #waits = []; // for the opening
  #why = 'it ended';
  #over = false;
  #lost;
  #told;
  #timer;

  /**
   * `command`: program and arguments. `client`: {name, version, ...} and `open`: the params of session.open. `limit`: of
   * what may wait. `lost(why)` is called once, when there is no session or no more; `told(method, params)` for
   * notifications. Throws what spawn() throws.
   */
  constructor(command, { client, open, limit, lost, told }) {
    this.#limit = limit;
    this.#lost = lost;
    this.#told = told;
    // A group of its own: Ctrl-C is the application's, and the daemon has its last words to write.
    this.#child = spawn(command[0], command.slice(1), {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    const { stdin, stdout, stderr } = this.#child;
    this.#child.on('error', (error) => this.#fail(error.message));
    if (stderr === undefined) {
      this.dead = true;
      throw new Error('it could not be started');
    }
    this.#child.on('exit', (code, signal) => this.#gone(`it ended with ${signal ?? code}`));
    // When its last words have been read.
    this.#child.on('close', () => this.#fail(this.#why));
    this.#outbox = new Outbox(
      stdin,
      () => this.flush(),
      (error) => this.dead || this.#gone(error.message),
    );
    stdout.on('data', (bytes) => this.#arrived(bytes));
    stdout.on('error', () => {});
    stderr.setEncoding('utf8').on('data', (text) => (this.#errors = (this.#errors + text).slice(-MOST_WORDS)));
    stderr.on('error', () => {});
    this.#timer = setTimeout(() => this.#fail(`it was not ready within ${START_MS / 1000} s`), START_MS);
    for (const held of [this.#child, stdin, stdout, stderr, this.#timer]) held.unref();
    this.#request('initialize', { protocol: PROTOCOL, client, capabilities: {} }, () => {
      this.#outbox.write('{"jsonrpc":"2.0","method":"initialized","params":{}}\n');
      this.#request('session.open', open, (answer) => this.#open(answer));
    });
  }

  /** Whether `size` more characters may wait. */
  hasRoom(size) {
    return this.waiting + this.#outbox.size + size <= this.#limit;
  }

  get queued() {
    return this.waiting + this.#outbox.size;
  }

  /** `call` has something to send: take() -> frames as text, in this turn or a later one. */
  touch(call) {
    this.#calls.add(call);
    this.#schedule();
  }

  /** `call` has nothing to send any more but `frame`, which may be ''. */
  forget(call, frame) {
    this.#calls.delete(call);
    this.#aside += frame;
    this.waiting += frame.length;
    this.#schedule();
  }

  #schedule() {
    if (this.#scheduled || !this.opened) return;
    this.#scheduled = true;
    if (liveMonotonic() - this.#sentAt >= PAUSE_MS) setImmediate(flush, this);
    else if (this.#pause === null) this.#pause = setTimeout(flush, PAUSE_MS, this).unref();
    else this.#pause.refresh();
  }

  /** Sends what there is, unless the pipe is full: then it is the calls that keep what they have to say. */
  flush() {
    this.#scheduled = false;
    if (this.opened && this.#outbox.size === 0) this.#send();
  }

  #send() {
    if (this.dead || !this.opened) return;
    let out = this.#aside;
    this.waiting -= out.length;
    this.#aside = '';
    for (const call of this.#calls) out += call.take();
    this.#calls.clear();
    if (out === '') return;
    this.#outbox.write(out);
    this.#sentAt = liveMonotonic();
  }

  /** The answer to a request, or null when there will be none. */
  async ask(method, params) {
    await this.#whenOpened();
    return new Promise((resolve) => {
      if (this.dead) return resolve(null);
      this.#send();
      this.#request(method, { session: Number(this.session), ...params }, resolve, () => resolve(null));
      return undefined;
    });
  }

  /** Ends the session and the daemon, within `ms`. Gives the answer to session.close, or null. */
  async close(dropped, ms) {
    if (this.dead) this.#fail(this.#why);
    if (this.#over) return null;
    // Somebody waits for it now: the process has to live that long.
    const { stdin, stdout } = this.#child;
    for (const held of [this.#child, stdin, stdout]) held.ref();
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ms, null)));
    const closed = (async () => {
      const answer = await this.ask('session.close', { dropped: dropped() });
      if (!this.dead) this.#end();
      return answer;
    })();
    const answer = await Promise.race([closed, late]);
    clearTimeout(timer);
    this.stop();
    return answer;
  }

  /** The same at the end of the process, without an event loop. */
  closeNow(dropped, ms) {
    if (this.dead) return this.#fail(this.#why);
    const deadline = liveMonotonic() + ms;
    const read = (enough) => {
      const reached = () => this.dead || this.#drain() || enough();
      readUntil(this.#child.stdout, this.#frames, reached, deadline);
    };
    this.#outbox.finish(deadline);
    read(() => this.opened);
    if (!this.opened) {
      const words = new FrameBuffer();
      readUntil(this.#child.stderr, words, () => false, 0);
      this.#errors += words.bytes.toString('utf8', 0, words.end);
      this.#fail('the process ended before it was ready');
    }
    if (this.dead) return undefined;
    let closed = false;
    // What the opening let go of, and then the rest.
    this.#outbox.finish(deadline);
    this.#send();
    this.#request('session.close', { session: Number(this.session), dropped: dropped() }, () => (closed = true));
    this.#end();
    this.#outbox.finish(deadline);
    return read(() => closed);
  }

  #end() {
    this.#request('shutdown', {}, () => {});
    this.#outbox.write('{"jsonrpc":"2.0","method":"exit"}\n');
  }

  /** Lets go of the daemon, which ends with its input. */
  stop() {
    this.dead = this.#over = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#pause);
    this.#calls.clear();
    const { stdin, stdout, stderr } = this.#child;
    stdin.end();
    for (const held of [this.#child, stdin, stdout, stderr]) held.unref();
    for (const waits of this.#waits.splice(0)) waits();
  }

  // Nobody reads any more. Why is clearer when the process has been heard to its end.
  #gone(why) {
    this.#why = why;
    this.dead = true;
    if (this.#over) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(this.#why), PATIENCE_MS);
    this.#timer.unref();
  }

  #fail(why) {
    if (this.#over) return;
    const words = this.#errors.trim().split('\n').at(-1);
    this.stop();
    this.#child.stdin?.destroy();
    for (const { failed } of this.#answers.values()) failed?.();
    this.#answers.clear();
    this.#lost(words === '' ? why : `${why}: ${words}`);
  }

  #whenOpened() {
    return this.opened || this.dead ? undefined : new Promise((resolve) => this.#waits.push(resolve));
  }

  #request(method, params, done, failed = undefined) {
    const id = ++this.#ids;
    this.#answers.set(id, { done, failed });
    this.#outbox.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  }

  #arrived(bytes) {
    if (this.dead) return;
    this.#frames.push(bytes);
    this.#drain();
  }

  // Always false: for readUntil().
  #drain() {
    try {
      for (let text = this.#frames.next(); text !== null; text = this.#frames.next()) {
        if (text !== '' && text !== '\r') this.#accept(parse(text));
      }
    } catch (error) {
      this.#fail(`it does not speak the protocol (${error.message})`);
    }
    return false;
  }

  #accept(message) {
    if (message === null) return this.#fail('it does not speak the protocol');
    if (message.method !== undefined) {
      if (message.id === undefined) return this.#told(message.method, message.params ?? {});
      return this.#outbox.write(failure(message.id, CODE.UNKNOWN_METHOD, 'no such method'));
    }
    const waits = this.#answers.get(message.id);
    if (waits === undefined) return undefined;
    this.#answers.delete(message.id);
    if (message.error === undefined) return waits.done(message.result ?? {});
    if (waits.failed !== undefined) return waits.failed();
    return this.#fail(String(message.error?.data?.message ?? message.error?.message));
  }

  #open({ session, gate, path, onForbid }) {
    if (!Number.isSafeInteger(session)) return this.#fail('it gave the session no number');
    this.gate = givenGate(gate);
    clearTimeout(this.#timer);
    this.session = String(session);
    this.path = typeof path === 'string' ? path : null;
    this.onForbid = onForbid;
    this.opened = true;
    for (const call of this.#calls) call.admitted(this.gate);
    for (const waits of this.#waits.splice(0)) waits();
    return this.flush();
  }

  /** Frames that were made before the session had a number. */
  numbered(text) {
    return text.replaceAll(UNNUMBERED, this.session);
  }
}

const flush = (link) => link.flush();
