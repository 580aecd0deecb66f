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
