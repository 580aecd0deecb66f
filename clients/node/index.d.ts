/** Handlers of a playhead daemon: what they are given, and the program that runs them. */

/** What travels: any value with a JSON text of its own. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A deterministic function of an event and its context. What it returns must be JSON; nothing is null. */
export type Handler<Event = any, Output = unknown> = (event: Event, ctx: Context) => Output | Promise<Output>;

export interface RespondOptions {
  /** What was asked, compared on replay: JSON. Left out and `[]` are equal. */
  args?: readonly unknown[];
  /** The same by name. Left out and `{}` are equal. */
  kwargs?: Readonly<Record<string, unknown>>;
}

export interface Span {
  /** Ends the span. Later calls do nothing. `outcome` is JSON. */
  end(outcome?: unknown): void;
}

/**
 * Everything that is not in the event: read here, and nowhere else, it is the same on replay.
 * The functions may be taken out of the object. Inside a producer they answer live and leave nothing on the tape.
 *
 * Each may throw (`respond`: reject with) DeterminismError when the tape has no answer, CallEnded after the call was
 * answered, Cancelled, Forbidden, LimitExceeded or ProtocolError.
 */
export interface Context {
  /** The event's index, from 0. */
  readonly seq: number;
  /** The daemon's number of this call. */
  readonly call: number;
  /** The name under which the handler was called. */
  readonly fn: string;

  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds of a clock that never goes back. */
  monotonic(): number;
  /** A float in [0, 1). */
  random(): number;
  /** An integer, `low` and `high` included. Both are safe integers. */
  randint(low: number, high: number): number;
  /** `n` random bytes. */
  randbytes(n: number): Uint8Array;
  /** `k` different items, in the order drawn; of a number `n`, `k` different positions below it. */
  sample<T>(population: readonly T[], k: number): T[];
  sample(n: number, k: number): number[];
  /** A random UUID (version 4). */
  uuid(): string;

  /**
   * The outcome of something outside. On record `produce` is run; on replay it is not, and the taped outcome is given.
   * Either way the value has been through JSON: `undefined` is null, and what JSON cannot carry is a TypeError.
   * Always a promise. After the end of the call it is never settled.
   */
  respond<T>(key: string, produce: () => T | PromiseLike<T>, options?: RespondOptions): Promise<T>;

  /** Says something about what the handler does. `data` is JSON. Never fed back. */
  note(name: string, data?: unknown): void;
  /** Says what the handler believes about the world. */
  observe(name: string, value: unknown, at?: string): void;
  /** A piece of work: around `run`, whose result is passed on (outcome "ok" or "error"), or until `end()`. */
  span<T>(name: string, run: () => T): T;
  span<T>(name: string, data: unknown, run: () => T): T;
  span(name: string, data?: unknown): Span;
  /** Tells the daemon that something was reached live: on replay, a divergence. */
  escaped(key: string, where?: string): void;

  /** The same context for a task of its own: between lanes there is no order, within one there is. */
  lane(name: string): Context;
}

/** The context under the name that handlers written for octopus-replay import. */
export type ReplayContext = Context;

/** An error as it travels. `type` and `message` are compared, the rest is evidence. */
export interface ErrorRecord {
  type: string;
  message: string;
  args?: unknown[];
  data?: unknown;
  stack?: string;
}

export interface ServeOptions {
  /** What the daemon's reports call this program. */
  name?: string;
  /** Version in the reports; this package's, unless given. */
  version?: string;
  /** Sent with the answer to `initialize`. JSON. */
  constants?: Record<string, unknown>;
  /** By type: makes the error a handler gets for a recorded one. */
  revivers?: Record<string, (recorded: ErrorRecord) => Error>;
  /**
   * Makes the handlers as good as those of a fresh process, between two calls: a daemon may then use this one for many
   * tapes. It may give the functions to serve from then on, under the same names; without it, nothing of the kind is
   * offered.
   */
  reset?: (
    constants: Record<string, unknown>,
  ) => void | Handler | Record<string, Handler> | Promise<void | Handler | Record<string, Handler>>;
  /** "worker": read stdin in a worker thread, as is done wherever a pipe cannot be opened twice. */
  reader?: 'worker';
}

/**
 * Serves the daemon on stdin and stdout: one function under the name "handler", or functions by name. Returns at once;
 * the process exits with 0 when the daemon closes the pipe. Throws TypeError when there is no function to serve.
 */
export function serve(handler: Handler | Record<string, Handler>, options?: ServeOptions): void;

/** An error that is the same in every language. */
export class HandlerError extends Error {
  constructor(type: string, message?: string, options?: { args?: unknown[]; data?: unknown; cause?: unknown });
  readonly type: string;
  args?: unknown[];
  data?: unknown;
}

/** A recorded error for which this program has no class: `name` and `type` are the recorded type. */
export class RecordedError extends HandlerError {}

/** The handler asked what the tape cannot answer. Catching it does not turn the verdict green again. */
export class DeterminismError extends Error {
  constructor(message: string, data?: unknown);
  /** "question", "order", "exhausted" or "escaped". */
  readonly kind: string;
  readonly data: unknown;
}

/** The context was asked after the handler had answered. */
export class CallEnded extends Error {}
/** The daemon gave this call up. */
export class Cancelled extends Error {}
/** The policy forbids what this call would write. */
export class Forbidden extends Error {}
/** A value is larger than a frame, or a draw larger than its limit. */
export class LimitExceeded extends Error {}
/** One side broke the protocol. */
export class ProtocolError extends Error {}

/** A value that JSON cannot carry. */
export class NotJSON extends TypeError {
  constructor(what: string, pointer: string, reason: string);
  /** The JSON Pointer of the part that is to blame. */
  readonly pointer: string;
}

// Recording in production: the application is the host, and starts a daemon of its own (`playhead serve`).

/** Which calls are recorded, as data: all members that are there have to hold. */
export interface GateData {
  /** Names of functions; `*` stands for any characters, `?` for one. */
  functions?: readonly string[];
  /** JSON Pointers into the event, and the values that have to be there. */
  where?: Readonly<Record<string, unknown>>;
  /** The share of calls, from 0 to 1: by the trace where there is one, so that all services keep the same traces. */
  sample?: number;
}

/** Asked about every call before anything is written of it. One that throws, or answers with a promise, says no. */
export type Gate = GateData | ((fn: string, event: any) => boolean);

export interface AttachOptions {
  /** A folder for tapes ("flight"), or the path of a tape that does not exist yet and ends in .jsonl. */
  out?: string;
  /** The command of the daemon: ["playhead", "serve"]. */
  daemon?: readonly string[];
  /** False: nothing is recorded, nothing is started, and a call costs what it costs (true). */
  enabled?: boolean;
  /** Beside the gate of the policy: both have to let a call through. */
  gate?: Gate | null;
  /** The most that may wait for the daemon, in bytes (16 MiB). Calls that find no room are dropped whole, and counted. */
  queueBytes?: number;
  /** Values of the process that a reader has to know. They go into the header of the tape. */
  constants?: Readonly<Record<string, unknown>>;
  /**
   * What is done where the policy forbids what a call would write, and drops its recording: nothing ("drop"), an error
   * ("raise": Forbidden from the call if it answers later, else uncaught), or this function. What the policy says,
   * unless given.
   */
  onForbid?: 'drop' | 'raise' | ((what: { call: number }) => void);
  /** The first part of the tape's file name. */
  name?: string;
  /** The file of the policy; the one that the daemon finds, unless given. */
  policy?: string;
  /** The W3C traceparent of calls that withTraceparent() says nothing of. */
  traceparent?: string | ((fn: string, event: any) => string | null | undefined);
  /** "ask": everything is sent as it happens ("ask"). "call": a call is sent whole, when it has ended. */
  durability?: 'ask' | 'call';
  /** How long the end of the process may wait for the daemon, in milliseconds (2000). */
  exitMs?: number;
}

export interface RecorderStats {
  /** Whether a call that begins now may be recorded. */
  recording: boolean;
  /** Calls that were recorded and have ended. */
  calls: number;
  /** Calls that are being recorded. */
  open: number;
  /** Calls that were to be recorded and were not, by reason: "queue", "limit", "forbid", "fault". */
  dropped: Record<string, number>;
  queuedBytes: number;
  /** Where the tape is, or will be; null before the daemon has said so. */
  path: string | null;
}

export interface WrapOptions {
  /** The first part of the keys: "kv" makes "kv.read". */
  prefix?: string;
  /** Methods that answer at once, and not with a promise. Those whose name ends with "Sync" do. */
  sync?: readonly string[];
}

/**
 * A transparent proxy of `client`. Where a call is running, a call of one of `methods` is an ask of it with the key
 * "prefix.method", and on replay the tape answers. All else, and all of it outside of calls, is the client's own.
 */
export function wrap<Client extends object>(
  client: Client,
  methods: readonly (keyof Client & string)[],
  options?: WrapOptions,
): Client;

export interface Recorder {
  /**
   * The same function, recorded under the name `fn`. The handler has its live values, and its caller the handler's: the
   * same objects and errors. Inside another recorded call it belongs to that.
   */
  wrap<Event, Output>(fn: string, handler: (event: Event, ctx: Context) => Output): (event: Event) => Output;
  wrap<Client extends object>(
    client: Client,
    methods: readonly (keyof Client & string)[],
    options?: WrapOptions,
  ): Client;
  /**
   * The same for a function with arguments of its own and no context. One plain object is the event, anything else is
   * {"args": [...]}.
   */
  tool<Fn extends (...args: any[]) => unknown>(name: string, fn: Fn): Fn;
  /** All that was wrapped, by name: what a module exports as `functions` to be replayed. */
  handlers(): Record<string, Handler>;
  /** From now on Date, performance.now, Math.random and the draws of node:crypto are asks of the call that is running. */
  shim(): void;
  /** Runs `fn`; calls that begin in it carry this W3C traceparent. */
  withTraceparent<T>(traceparent: string | null | undefined, fn: () => T): T;
  /** What the context has under these names, for code without one. Outside of calls nothing is said. */
  note(name: string, data?: unknown): void;
  observe(name: string, value: unknown, at?: string): void;
  span<T>(name: string, run: () => T): T;
  span<T>(name: string, data: unknown, run: () => T): T;
  span(name: string, data?: unknown): Span;
  stats(): RecorderStats;
  /**
   * Ends the session, takes the shims away, and gives what the daemon says of the tape; null if there is none. Not
   * needed at the end of the process.
   */
  close(): Promise<({ path: string | null; hash: string } & Record<string, unknown>) | null>;
}

/**
 * Attaches a recorder to this process. Nothing is started before the first call that is to be recorded. Throws TypeError
 * for options that mean nothing; after that, whatever becomes of the daemon, nothing is thrown and nothing waits.
 */
export function attach(options?: AttachOptions): Recorder;
