// Records calls of an application where they happen. The application gets its live values and errors, always; what it
// asked and got is written down beside it and sent to a daemon, which owns the tape. A call is taped whole or, where
// the queue has no room for it or something fails, dropped whole and counted.
import { Call } from './call.mjs';
import { Forbidden } from './errors.mjs';
import { compileGate } from './gate.mjs';
import { Link } from './link.mjs';
import { liveMonotonic } from './live.mjs';
import { report } from './stdio.mjs';
import { storage, surroundings } from './running.mjs';
import { traceIdOf, traceparentHere } from './traceparent.mjs';

const CONFIRM_MS = 5000;
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 60_000;

/** Where calls come from, and where they go: one daemon at a time, another one after that is gone. */
export class Recorder {
  /** Calls that were begun so far, recorded or not. */
  seq = 0;
  #options;
  #gate;
  #link = null;
  #state;
  #retryAt = 0;
  #retryMs = RETRY_MS;
  #warned = false;
  #numbers = 0;
  #open = 0;
  #finished = 0;
  #dropped = {};
  #loud = new Map(); // calls that are to fail where the policy forbids them -> whether it did
  #untold = {}; // of these, the ones the daemon has not been told of

  /** `options`: see attach(), every one given; `client` and `open` are params of initialize and session.open. */
  constructor(options) {
    this.#options = options;
    this.#gate = compileGate(options.gate);
    this.#state = options.enabled ? 'on' : 'off';
    if (options.enabled) storage();
  }

  get isOn() {
    return this.#state === 'on' && !surroundings.hosted;
  }

  /** Whether a call is sent in one frame, when it has ended. */
  get wholeCalls() {
    return this.#options.durability === 'call';
  }

  /** The call, begun, or null: it is to run unrecorded. Never throws. */
  begin(fn, event) {
    const seq = this.seq++;
    if (this.#state !== 'on' || surroundings.hosted) return null;
    let traceparent;
    const trace = () => traceIdOf((traceparent ??= traceparentHere(this.#options.traceparent, fn, event)));
    if (!this.#gate(fn, event, trace)) return null;
    const link = this.#link ?? this.#start();
    if (link === null || link.dead || (link.gate !== null && !link.gate(fn, event, trace))) return null;
    traceparent ??= traceparentHere(this.#options.traceparent, fn, event);
    const call = new Call(this, link, ++this.#numbers, seq, fn, event, traceparent);
    if (!call.begin()) return null;
    this.#open++;
    if ((this.#options.onForbid ?? link.onForbid) === 'raise') {
      this.#loud.set(call.number, false);
      call.isLoud = true;
    }
    return call;
  }

  /** A call that began has ended. */
  ended() {
    this.#open--;
    this.#finished++;
  }

  /** Rejects with Forbidden if the policy forbids what was written of a loud call that has ended. */
  async confirm(call) {
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, CONFIRM_MS)));
    // What was forbidden is told before this is answered.
    await Promise.race([this.#link?.ask('session.stats', {}), late]);
    clearTimeout(timer);
    if (this.#takeLoud(call)) throw forbidden();
  }

  /** The same for a call that nobody waits for: it is raised where nobody can catch it. */
  confirmAside(call) {
    this.confirm(call).catch(raiseAside);
  }

  #takeLoud(call) {
    const hit = this.#loud.get(call.number);
    this.#loud.delete(call.number);
    return hit;
  }

  /** A call is not on the tape. `begun`: it was one of those that are open; `told`: the daemon knows. */
  gaveUp(reason, begun, told) {
    if (begun) this.#open--;
    if (reason === null) {
      if (!begun) this.#finished--;
      return;
    }
    this.#dropped[reason] = (this.#dropped[reason] ?? 0) + 1;
    if (!told) this.#untold[reason] = (this.#untold[reason] ?? 0) + 1;
  }

  stats() {
    return {
      recording: this.isOn,
      calls: this.#finished,
      open: this.#open,
      dropped: { ...this.#dropped },
      queuedBytes: this.#link?.queued ?? 0,
      path: this.#link?.path ?? null,
    };
  }

  async close() {
    const link = this.#takeLink();
    return link === null ? null : link.close(() => this.#takeUntold(), this.#options.exitMs);
  }

  closeNow() {
    this.#takeLink()?.closeNow(() => this.#takeUntold(), this.#options.exitMs);
  }

  #takeLink() {
    const link = this.#link;
    this.#link = null;
    this.#state = 'closed';
    linked.delete(this);
    return link;
  }

  #takeUntold() {
    const counts = this.#untold;
    this.#untold = {};
    return counts;
  }

  #start() {
    if (this.#retryAt > liveMonotonic()) return null;
    const { daemon, client, open, queueBytes } = this.#options;
    try {
      this.#link = new Link(daemon, {
        client,
        open,
        limit: queueBytes,
        lost: (why) => this.#lost(why),
        told: (method, params) => this.#told(method, params),
      });
      finishAtExit(this);
    } catch (error) {
      this.#lost(error.message);
    }
    return this.#link;
  }

  #lost(why) {
    const link = this.#link;
    this.#link = null;
    linked.delete(this);
    // What was going on is in the sidecar of a tape that has come to its end.
    for (; this.#open > 0; this.#open--) this.#dropped.fault = (this.#dropped.fault ?? 0) + 1;
    // One that never came is not tried again: it is missing, or the options are wrong. Nor is a tape written twice.
    if (this.#state === 'on' && (link === null || !link.opened || this.#options.once)) this.#state = 'off';
    const now = liveMonotonic();
    if (link !== null && now - link.startedAt > LONGEST_RETRY_MS) this.#retryMs = RETRY_MS;
    this.#retryAt = now + this.#retryMs;
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
    if (this.#warned) return;
    this.#warned = true;
    const what = this.#state === 'on' ? 'recording was interrupted' : 'nothing is recorded';
    const warning = `${what}: ${this.#options.daemon.join(' ')}: ${why}`;
    // Warnings wait for a turn that will not come any more.
    if (this.#state === 'closed') report(warning);
    else process.emitWarning(warning, 'PlayheadWarning');
  }

  #told(method, params) {
    if (method !== 'call.dropped') return;
    this.gaveUp(String(params.reason), false, true);
    this.#finished--;
    if (params.reason !== 'forbid') return;
    const onForbid = this.#options.onForbid ?? this.#link?.onForbid;
    if (typeof onForbid === 'function') onForbid({ call: params.call });
    else if (this.#loud.has(params.call)) this.#loud.set(params.call, true);
    else if (onForbid === 'raise') raiseAside();
  }
}

const forbidden = () =>
  new Forbidden('the policy forbids what a recorded call would have written; nothing of it is on the tape');

// In a turn of its own, so that it is nobody's to catch.
function raiseAside() {
  setImmediate(() => {
    throw forbidden();
  });
}

// Those that have a daemon.
const linked = new Set();
let listening = false;

function finishAtExit(recorder) {
  linked.add(recorder);
  if (listening) return;
  listening = true;
  process.on('exit', () => {
    for (const each of [...linked]) each.closeNow();
  });
}
