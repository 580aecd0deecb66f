// The handler's side of the conversation: calls one at a time, questions out, answers handed over one a turn. No I/O
// of its own: `wire` has send(text), next() -> text that has come or null, receive() -> text (blocks), soon(run), which
// runs it in a later turn of the event loop, tick(run), which runs it in this one, when all promises have been seen to,
// and giveUp(why), which ends the process with 1 and says why on stderr.
//
// What a window gave is taken in place of asking, and what was taken is said with the next thing that has to be.
//
// What arrives is only filed, at whatever moment it comes. Code of the handler runs in `turn` alone, so a frame that
// comes in the middle of a synchronous ctx.now() can never run a producer or resolve a promise there.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createContext } from './context.mjs';
import { CallEnded, Cancelled, LimitExceeded, ProtocolError, fromWire, revive, toE } from './errors.mjs';
import { Feed } from './feed.mjs';
import { MAX_FRAME_BYTES } from './framing.mjs';
import { Handles, handleIn, isHandle, newCall } from './handles.mjs';
import { HostedDoor } from './hosted.mjs';
import { CODE, PROTOCOL, ask, askedOf, failure, notification, parse, result } from './message.mjs';
import { Outgoing } from './outgoing.mjs';
import { Queue, takeOut } from './queue.mjs';
import { OFF, surroundings } from './running.mjs';
import { decoded, encode } from './values.mjs';

// What a message adds around a value is far below this.
const FRAME_MARGIN = 4096;

// A message of asks is closed when it has grown to this, so that none comes near the largest.
const FULL = 256 * 1024;

const nothing = () => {};

export class Peer {
  #wire;
  #functions;
  #identity;
  #constants;
  #revivers;
  #reset;
  #initialized = false;
  #windows = false; // the daemon has been told that it may give answers ahead
  #feed = new Feed();
  #out;
  #ids = 0;
  #asks = new Map(); // id -> what waits for that answer
  #handles = new Handles((text) => this.#handleIn(text));
  #starts = new Queue(); // producers the daemon asked for
  #answers = new Queue(); // what may be handed over, one a turn
  #call = null;
  #resetting = false;
  #scheduled = false;
  #ticking = false;
  #woken = false; // code of the handler has been woken since the last turn of the event loop
  #turn = () => this.turn();
  #tick = () => {
    this.#ticking = false;
    this.#step();
  };
  #largest = MAX_FRAME_BYTES - FRAME_MARGIN;
  // Made at the first producer: on replay there is none, and async_hooks would slow every promise down.
  #producing = null;

  /**
   * `functions`: name -> handler. `identity`: {name, version, language, runtime}. `reset`: null where there is no such
   * thing, or an async function of the daemon's constants that makes the handlers new and gives the functions of then, or
   * says on stderr why it cannot, and rejects.
   */
  constructor(wire, functions, { identity, constants = {}, revivers = {}, reset = null }) {
    this.#wire = wire;
    this.#functions = functions;
    this.#identity = identity;
    this.#constants = constants;
    this.#revivers = revivers;
    this.#reset = reset;
    this.#out = new Outgoing(wire.send, wire.soon, () => this.#taken());
  }

  /** Files all frames that have come, then takes a turn, since bytes that arrive are a turn of the event loop. */
  arrived() {
    const scheduled = this.#scheduled;
    this.#scheduled = true;
    this.#drain();
    // A turn that is scheduled already takes its turn as it would have.
    if (!scheduled) this.turn();
  }

  /** One turn of the event loop: starts producers, then hands over one answer or begins one call. */
  turn() {
    this.#scheduled = false;
    this.#woken = false;
    this.#step();
  }

  /** Writes what waits to be written. */
  flush() {
    this.#out.say(this.#taken());
  }

  #step() {
    for (let started = this.#starts.take(); started !== undefined; started = this.#starts.take())
      this.#produce(started);
    let answer = this.#answers.take();
    while (answer !== undefined && answer.asked.settled) answer = this.#answers.take();
    if (answer !== undefined) this.#handOver(answer);
    else if (this.#call === null) {
      if (!this.#resetting) this.#begin(this.#handles.take());
    } else if (this.#call.cancelled && this.#call.open.length === 0) this.#finish(this.#call, '', null);
    this.#scheduleRest();
  }

  /** A synchronous round trip: the answer, or the error it carries, thrown. */
  ask(call, method, rest) {
    this.#mayAsk(call);
    return this.#ask(call, method, call.asked++, rest);
  }

  /** The same of the wall clock, or a float: what windows may hold. */
  askPlain(call, method, rest) {
    this.#mayAsk(call);
    const number = call.asked++;
    const value = call.over ? undefined : (method === 'now' ? this.#feed.now : this.#feed.random).take();
    if (value === undefined) return this.#ask(call, method, number, rest);
    this.#item(call, rest === '' ? `{"m":"${method}"}` : item(method, rest));
    return value;
  }

  /** The same of the outside, for a producer that does not wait: its value, or the error it carries, thrown. */
  respondNow(call, key, produce, rest) {
    this.#mayAsk(call);
    this.#checkArguments(rest, key);
    const number = call.asked++;
    const answer = this.#answerNow(call, key, number, rest);
    if (answer?.produce === true) return this.#produceNow(call, key, number, produce);
    if (answer?.error !== undefined) throw this.#revived({ e: answer.error });
    if (answer?.value !== undefined) return answer.value;
    throw new ProtocolError('an answer to respond has value, error or produce');
  }

  #answerNow(call, key, number, rest) {
    const given = call.over ? undefined : (this.#feed.takeRespond(key) ?? (call.produces ? PRODUCE : undefined));
    if (given === undefined) return this.#ask(call, 'respond', number, rest);
    this.#item(call, item('respond', rest));
    return given;
  }

  #ask(call, method, number, rest) {
    const id = ++this.#ids;
    this.#say(call, ask(id, method, call.number, number, rest));
    if (call.over) throw ended(call);
    for (;;) {
      const text = this.#wire.receive();
      if (this.#keeps(text)) continue;
      const message = this.#read(text);
      if (message === null) continue;
      if (message.id === id && message.method === undefined) {
        // What was read along with it waits in memory, where no event loop sees it.
        this.#drain();
        if (message.error !== undefined) throw fromWire(message.error);
        return message.result;
      }
      this.#route(message);
      if (call.cancelled) {
        this.#drain();
        throw cancelled();
      }
    }
  }

  /** A question to the outside: a promise of the value, settled in a later turn, or never once the call is over. */
  respond(call, key, produce, rest) {
    const asked = { call, number: 0, key, produce, promise: null, resolve: null, reject: null, settled: false };
    asked.promise = new Promise((resolve, reject) => {
      asked.resolve = resolve;
      asked.reject = reject;
    });
    try {
      this.#mayAsk(call);
      this.#checkArguments(rest, key);
    } catch (error) {
      this.#queue(asked, error);
      return asked.promise;
    }
    asked.number = call.asked++;
    if (call.over) {
      this.#say(call, ask(++this.#ids, 'respond', call.number, asked.number, rest));
      this.#queue(asked, ended(call));
      return asked.promise;
    }
    call.open.push(asked);
    const given = this.#feed.takeRespond(key);
    if (given !== undefined) {
      this.#item(call, item('respond', rest));
      this.#given(asked, given);
    } else if (call.produces) {
      this.#item(call, item('respond', rest));
      this.#starts.put(asked);
      this.#schedule();
    } else {
      const id = ++this.#ids;
      this.#asks.set(id, asked);
      this.#say(call, ask(id, 'respond', call.number, asked.number, rest));
    }
    return asked.promise;
  }

  /** Testimony: sent and forgotten. */
  tell(call, method, rest) {
    this.#check(rest, `ctx.${method}()`);
    const text = this.#closed(call) + notification(method, call.number, rest);
    if (call.mayWait && !call.over) this.#out.add(text);
    else this.#out.say(text);
  }

  encode(value, what) {
    return encode(value, what);
  }

  isLive() {
    return this.producing;
  }

  /** True inside a producer, whose questions are live and off the tape: its answer is the boundary. */
  get producing() {
    return this.#producing !== null && this.#producing.getStore() !== undefined;
  }

  #drain() {
    for (let text = this.#wire.next(); text !== null; text = this.#wire.next()) this.#accept(text);
  }

  // Files one frame: answers go to who waits for them, requests are answered or queued. Runs no code of the handler.
  #accept(text) {
    if (this.#keeps(text)) return;
    const message = this.#read(text);
    if (message !== null) this.#route(message);
  }

  // A call is read when its turn comes.
  #keeps(text) {
    if (!this.#initialized || !isHandle(text)) return false;
    this.#handles.put(text);
    this.#schedule();
    return true;
  }

  #read(text) {
    let message;
    try {
      message = parse(text);
    } catch (error) {
      this.giveUp(error.message);
      return null;
    }
    if (message === null) this.#noMessage('it is no object with "jsonrpc": "2.0"');
    return message;
  }

  /** A frame is not one JSON text: says so, and ends. */
  giveUp(why) {
    this.#unreadable(CODE.PARSE, 'the frame is not one JSON text', why);
  }

  #noMessage(why) {
    this.#unreadable(CODE.INVALID_REQUEST, 'the frame is not a JSON-RPC 2.0 message', why);
  }

  // Nothing can be said about a conversation that is no longer one.
  #unreadable(code, text, why) {
    this.#out.say(this.#taken() + failure(null, code, text));
    this.#wire.giveUp(`a frame cannot be read: ${why}`);
  }

  #route(message) {
    if (message.method === undefined) this.#answered(message);
    else if (typeof message.method !== 'string') this.#noMessage('the method is not a string');
    else if (message.id === undefined) this.#notified(message);
    else if (typeof message.id !== 'string' && !Number.isInteger(message.id)) {
      this.#noMessage('an id is a string or an integer');
    } else this.#requested(message);
  }

  #requested(message) {
    const params = message.params ?? {};
    if (message.method === 'initialize') return this.#initialize(message, params);
    if (!this.#initialized) return this.#fail(message, CODE.NOT_INITIALIZED, 'initialize has not been answered');
    switch (message.method) {
      case 'handle':
        return this.#handle(message, params);
      case 'reset':
        this.#handles.readAll();
        return this.#makeNew(message, params);
      case 'shutdown':
        return this.#out.say(result(message.id, '{}'));
      default:
        return this.#fail(message, CODE.UNKNOWN_METHOD, 'no such method');
    }
  }

  #initialize(message, { protocol, limits, capabilities: offered }) {
    if (this.#initialized) return this.#fail(message, CODE.INVALID_REQUEST, 'initialize has been answered already');
    if (!Number.isInteger(protocol)) return this.#fail(message, CODE.INVALID_PARAMS, 'protocol is not an integer');
    if (protocol < PROTOCOL) {
      return this.#fail(message, CODE.VERSION, 'no common protocol version', { supported: [PROTOCOL] });
    }
    const bytes = limits?.frameBytes;
    if (Number.isInteger(bytes) && bytes > 0) this.#largest = Math.max(bytes - FRAME_MARGIN, bytes >> 1);
    this.#initialized = true;
    this.#windows = offered?.window === true;
    if (offered?.reset !== true) this.#reset = null;
    const capabilities = {};
    if (this.#windows) capabilities.window = true;
    if (this.#reset !== null) capabilities.reset = true;
    const answer = {
      protocol: PROTOCOL,
      handler: this.#identity,
      functions: [...this.#functions.keys()],
      capabilities,
      constants: this.#constants,
    };
    return this.#out.say(result(message.id, JSON.stringify(answer)));
  }

  #handle(message, params) {
    const handle = this.#handleOf(message, params);
    if (handle === null) return;
    this.#handles.put(handle);
    this.#schedule();
  }

  // Of a frame that was kept. Whatever else it turns out to be is dealt with, and null comes back.
  #handleIn(text) {
    const message = handleIn(text) ?? this.#read(text);
    if (message === null) return null;
    const { id, method, params } = message;
    if (method === 'handle' && Number.isInteger(id)) return this.#handleOf(message, params ?? {});
    this.#route(message);
    return null;
  }

  // Null if it was refused.
  #handleOf(message, params) {
    const { call, fn, seq } = params;
    let { window } = params;
    let why;
    if (!Number.isSafeInteger(call) || call < 0) why = 'call is not a number from 0';
    else if (!Number.isSafeInteger(seq) || seq < 0) why = 'seq is not a number from 0';
    else if (!('event' in params)) why = 'there is no event';
    else if (!this.#functions.has(fn)) why = `no function named ${fn}`;
    else if (!this.#windows || window === undefined) window = null;
    else if (!Feed.isWindow(window)) why = 'the window is not one';
    if (why === undefined) return newCall(message.id, call, seq, fn, params.event, window);
    this.#fail(message, CODE.INVALID_PARAMS, why);
    return null;
  }

  // Calls that come meanwhile wait.
  #makeNew(message, { constants = {} }) {
    if (this.#reset === null) return this.#fail(message, CODE.UNKNOWN_METHOD, 'these handlers cannot be made new');
    if (this.#resetting || this.#call !== null || !this.#handles.empty)
      return this.#fail(message, CODE.INVALID_REQUEST, 'a call is open');
    this.#resetting = true;
    this.#feed = new Feed();
    return this.#reset(constants).then(
      (functions) => {
        const lost = [...this.#functions.keys()].find((name) => !functions.has(name));
        if (lost !== undefined)
          return this.#madeNew(failure(message.id, CODE.INTERNAL, `the new handlers have no function named ${lost}`));
        this.#functions = functions;
        return this.#madeNew(result(message.id, '{}'));
      },
      () => {
        const why = { reference: 'stderr' };
        this.#madeNew(failure(message.id, CODE.INTERNAL, 'the handlers could not be made new', why));
      },
    );
  }

  #madeNew(answer) {
    this.#resetting = false;
    this.#out.say(answer);
    this.#scheduleRest();
  }

  #notified({ method, params }) {
    if (!this.#initialized) return undefined;
    if (method === 'cancel') return this.#cancelled(params);
    return method === 'withdraw' ? this.#withdrawn() : undefined;
  }

  #withdrawn() {
    this.#feed = new Feed();
    this.#handles.withdraw();
  }

  #cancelled(params) {
    this.#handles.cancel(params?.call);
    const call = this.#call;
    if (call === null || call.number !== params?.call || call.cancelled) return undefined;
    call.cancelled = true;
    for (const asked of call.open) {
      // What the daemon has already answered is not handed over any more.
      this.#answers.remove((answer) => answer.asked === asked);
      this.#queue(asked, cancelled());
    }
    return this.#schedule();
  }

  #answered({ id, error, result: answer }) {
    const asked = this.#asks.get(id);
    if (asked === undefined) return; // of a call that is over, or cancelled
    this.#asks.delete(id);
    if (asked.settles !== undefined) {
      if (error !== undefined) asked.settles.failure = fromWire(error);
      return;
    }
    if (asked.call.cancelled) return;
    if (error !== undefined) this.#queue(asked, fromWire(error));
    else if (answer?.produce === true) {
      this.#starts.put(asked);
      this.#schedule();
    } else if (answer?.error !== undefined) this.#put({ asked, e: answer.error });
    else if (answer?.value !== undefined) this.#put({ asked, value: answer.value });
    else this.#queue(asked, new ProtocolError('an answer to respond has value, error or produce'));
  }

  #begin(call) {
    if (call === undefined) return undefined;
    const { window, event } = call;
    call.event = null;
    if (window !== null) {
      call.produces = window.produce === true;
      call.mayWait = !call.produces;
      this.#feed.add(window);
      call.window = null;
    }
    this.#call = call;
    if (call.cancelled) return this.#finish(call, '', null);
    this.#woken = true;
    const run = this.#functions.get(call.fn);
    const door = surroundings.storage === null ? null : new HostedDoor(this, call);
    call.door = door;
    const context = createContext(this, call, null);
    surroundings.current = context;
    let output;
    try {
      if (door === null) output = run(event, context);
      else {
        door.ctx = context;
        output = surroundings.storage.run(door, run, event, context);
      }
    } catch (error) {
      return this.#raise(call, error);
    }
    if (!isThenable(output)) return this.#return(call, output);
    return promised(
      output,
      (value) => this.#return(call, value),
      (error) => this.#raise(call, error),
    );
  }

  #return(call, output) {
    if (call.over) return;
    let text;
    try {
      this.#failedSettlement(call);
      text = encode(output, 'output');
      this.#check(text, 'output');
    } catch (error) {
      return this.#raise(call, error);
    }
    this.#finish(call, text, null);
  }

  #raise(call, error) {
    if (call.over) return;
    this.#finish(call, '', toE(error));
  }

  // The call is over: questions still open stay open for ever, producers still running are dropped.
  #finish(call, text, e) {
    call.over = true;
    for (const asked of call.open) asked.settled = true;
    // A table that is cleared points to the next: a chain of them, one a call, would outlive many collections.
    if (this.#asks.size > 0) this.#asks.clear();
    this.#call = null;
    surroundings.current = null;
    let answer = this.#closed(call);
    if (call.cancelled) answer += raised(call.id, toE(cancelled()));
    else if (e !== null) answer += this.#raisedText(call, e);
    else answer += result(call.id, `{"output":${text}}`);
    if (call.mayWait && !this.#handles.empty) this.#out.add(answer);
    else this.#out.say(answer);
    this.#scheduleRest();
  }

  #raisedText(call, e) {
    try {
      const text = raised(call.id, e);
      this.#check(text, 'the error');
      return text;
    } catch (error) {
      // Evidence that JSON cannot carry, or a message of 64 MiB.
      return raised(call.id, error instanceof LimitExceeded ? toE(error) : { type: e.type, message: e.message });
    }
  }

  // Live, and off the tape, for whatever is asked in it.
  #run(call, produce) {
    this.#producing ??= new AsyncLocalStorage();
    if (surroundings.storage === null) return this.#producing.run(call, produce);
    return this.#producing.run(call, () => surroundings.storage.run(OFF, produce));
  }

  #produceNow(call, key, number, produce) {
    let value;
    let settlement;
    let failure = null;
    if (call.produces) this.#say(call, '');
    try {
      const what = `the answer to ${JSON.stringify(key)}`;
      const produced = this.#run(call, produce);
      const text = encode(produced, what);
      this.#check(text, what);
      value = decoded(produced, text);
      settlement = `,"value":${text}`;
    } catch (error) {
      const answer = this.#errorAnswer(error);
      failure = this.#revived(answer);
      settlement = answer.settlement;
    }
    if (!call.over) this.#settle(call, number, settlement);
    if (failure !== null) throw failure;
    return value;
  }

  #produce(asked) {
    if (asked.settled || asked.call.over || asked.call.cancelled) return undefined;
    // The question is known to the daemon, whatever the producer does to this process.
    if (asked.call.produces) this.#say(asked.call, '');
    let value;
    try {
      value = this.#run(asked.call, asked.produce);
    } catch (error) {
      return this.#failed(asked, error);
    }
    if (!isThenable(value)) return this.#produced(asked, value);
    return promised(
      value,
      (late) => this.#produced(asked, late),
      (error) => this.#failed(asked, error),
    );
  }

  #produced(asked, value) {
    if (asked.settled || asked.call.over) return;
    const what = `the answer to ${JSON.stringify(asked.key)}`;
    try {
      // Written down now, not when its turn comes: the producer may go on to change it.
      const text = encode(value, what);
      this.#check(text, what);
      this.#putQuietly({ asked, value: decoded(value, text), settlement: `,"value":${text}` });
    } catch (error) {
      this.#failed(asked, error);
    }
  }

  #failed(asked, error) {
    if (asked.settled || asked.call.over) return;
    this.#putQuietly({ asked, ...this.#errorAnswer(error) });
  }

  #errorAnswer(error) {
    let e = toE(error, { evidence: true });
    let text;
    try {
      text = encode(e, 'the error');
      this.#check(text, 'the error');
    } catch (unfit) {
      e = unfit instanceof LimitExceeded ? toE(unfit) : { type: e.type, message: e.message };
      text = JSON.stringify(e);
    }
    return { e: JSON.parse(text), cause: error, settlement: `,"error":${text}` };
  }

  // The settlement goes out and the value is handed over in one breath: the daemon counts the asks made before it.
  #handOver(answer) {
    const { asked } = answer;
    const { call } = asked;
    asked.settled = true;
    takeOut(call.open, asked);
    this.#woken = true;
    if (answer.settlement !== undefined) this.#settle(call, asked.number, answer.settlement);
    if (answer.failure === undefined && answer.e === undefined) return asked.resolve(answer.value);
    // An error that nobody awaits is on the tape, and no reason for Node to end the process.
    asked.promise.catch(nothing);
    asked.reject(answer.failure ?? this.#revived(answer));
  }

  #settle(call, number, settlement) {
    if (call.produces) return this.#item(call, `{"m":"respond.settle","p":{"ask":${number}${settlement}}}`);
    const id = ++this.#ids;
    this.#asks.set(id, { settles: call });
    return this.#say(call, ask(id, 'respond.settle', call.number, number, settlement));
  }

  #revived({ e, cause }) {
    try {
      return revive(e, this.#revivers, cause);
    } catch (error) {
      return error; // the reviver's own
    }
  }

  #mayAsk(call) {
    if (call.over) return;
    if (call.cancelled) throw cancelled();
    this.#failedSettlement(call);
  }

  #failedSettlement(call) {
    if (call.failure === null) return;
    const error = call.failure;
    call.failure = null;
    throw error;
  }

  #checkArguments(rest, key) {
    if (rest.length * 3 > this.#largest) this.#check(rest, `the arguments of ctx.respond(${JSON.stringify(key)})`);
  }

  #check(text, what) {
    if (text.length * 3 <= this.#largest) return;
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#largest) throw new LimitExceeded(`${what}: ${bytes} bytes; a frame holds ${this.#largest}`);
  }

  #queue(asked, error) {
    this.#put({ asked, failure: error });
  }

  // An answer from the feed. Where it is the only one, what is being resolved now is all there is to wait for.
  #given(asked, { value, error }) {
    let answer;
    if (error !== undefined) answer = { asked, e: error };
    else if (value !== undefined) answer = { asked, value };
    else answer = { asked, failure: new ProtocolError('an answer in a window has value or error') };
    const alone = this.#answers.empty && asked.call.open.length === 1;
    this.#answers.put(answer);
    if (alone) this.#scheduleTick();
    else this.#schedule();
  }

  // What was produced here: likewise, where nothing of the handler has been woken since the producers began.
  #putQuietly(answer) {
    const alone = !this.#woken && this.#answers.empty && answer.asked.call.open.length === 1;
    this.#answers.put(answer);
    if (alone) this.#scheduleTick();
    else this.#schedule();
  }

  #put(answer) {
    this.#answers.put(answer);
    this.#schedule();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#wire.soon(this.#turn);
  }

  #scheduleTick() {
    if (this.#ticking) return;
    this.#ticking = true;
    this.#wire.tick(this.#tick);
  }

  #scheduleRest() {
    if (this.#ticking) return; // which will do this again
    const call = this.#call;
    if (!this.#answers.empty) this.#schedule();
    else if (call !== null) {
      if (call.cancelled && call.open.length === 0) this.#schedule();
    } else if (!this.#handles.empty && !this.#resetting) {
      // The loop has its turn after each write: nothing that has come, or is due, waits for a long line of calls.
      if (this.#out.waits) this.#scheduleTick();
      else this.#schedule();
    }
  }

  // Asks of a call that go with what it says next.
  #item(call, text) {
    if (call.items === '') {
      call.items = text;
      this.#out.arm();
    } else if (call.items.length + text.length > FULL) {
      this.#out.add(this.#closed(call));
      call.items = text;
    } else call.items += `,${text}`;
  }

  #closed(call) {
    if (call.items === '') return '';
    const text = askedOf(call.number, call.items);
    call.items = '';
    return text;
  }

  #taken() {
    return this.#call === null ? '' : this.#closed(this.#call);
  }

  // At once, and after what the call has asked.
  #say(call, text) {
    this.#out.say(call.items === '' ? text : this.#closed(call) + text);
  }

  #fail(message, code, text, data) {
    this.#out.say(failure(message.id, code, text, data));
  }
}

const PRODUCE = { produce: true };

// `rest` is the text of members, each with its comma in front.
const item = (method, rest) => `{"m":"${method}","p":{${rest.slice(1)}}}`;

const isThenable = (value) =>
  value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';

// A native promise costs one microtask; anything else that has a then() is made one first.
function promised(value, onValue, onError) {
  (value instanceof Promise ? value : Promise.resolve(value)).then(onValue, onError);
}

const raised = (id, e) => result(id, `{"raised":${encode(e, 'the error')}}`);

const cancelled = () => new Cancelled('the call was cancelled');

const ended = (call) => new CallEnded(`call ${call.number} has been answered already`);
