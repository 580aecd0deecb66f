// One recorded call: what it asked and got, as frames for the daemon. Its handler gets live values and errors; what is
// written of them is written at once, before anyone can change them.
//
// Where several answers of one call come within one turn, the second is handed over when all that the first has woken
// has run, not between its steps. A replay hands answers over one at a time, and could not bring the steps back.
import { createContext } from './context.mjs';
import { toE } from './errors.mjs';
import { argumentsText } from './hosted.mjs';
import { liveMonotonic } from './live.mjs';
import { OFF, surroundings } from './running.mjs';
import { exactText, nearestText } from './taped.mjs';
import { isPlainPromise, isThenable, observed, withMembersOf } from './thenables.mjs';
import { traceIdOf } from './traceparent.mjs';

// A frame of asks is closed when it has grown to this, so that none comes near the largest.
const FULL = 256 * 1024;

/** The door, and the peer of the context, of all that runs in one call. */
export class Call {
  hosted = false;
  over = false;
  lossy = false;
  isLoud = false;
  asked = 0;
  spans = 0;
  #recorder;
  #link;
  #ctx = null;
  #dead = false; // nothing more is written of it
  #began = liveMonotonic();
  #head;
  #event;
  #traceparent;
  #text = ''; // whole frames
  #items = ''; // of the frame of asks that is not closed yet
  #size = 0; // of both, as the link counts it
  #touched = false;
  #sent = false;
  #open = 0;
  #several = false; // asks were open at once
  #woken = false; // an answer was handed over, and what it has woken may be running still
  #ready = []; // answers that come after it

  constructor(recorder, link, number, seq, fn, event, traceparent) {
    this.#recorder = recorder;
    this.#link = link;
    this.number = number;
    this.seq = seq;
    this.fn = fn;
    this.#traceparent = traceparent;
    const exact = exactText(event);
    this.#event = exact ?? nearestText(event);
    const trace = traceparent === null ? '' : `,"traceparent":"${traceparent}"`;
    this.#head = `,"call":${number},"seq":${seq},"fn":${JSON.stringify(fn)},"event":${this.#event}${trace}`;
    if (exact !== null) return;
    if (recorder.wholeCalls) this.lossy = true;
    else this.#head += ',"lossy":true';
  }

  get door() {
    return this;
  }

  get ctx() {
    return (this.#ctx ??= createContext(this, this, null));
  }

  /** False if there is no room for it: then nothing has been written. */
  begin() {
    if (this.#isTooLarge(this.#head)) this.#drop('limit', false);
    else if (!this.#link.hasRoom(this.#head.length)) this.#drop('queue', false);
    else if (this.#recorder.wholeCalls) this.#count(this.#head.length);
    else {
      this.#frame('call.begin', this.#head);
      this.#head = '';
    }
    if (this.#link.opened) this.#event = null;
    // The daemon's gate has to be asked about it.
    else if (!this.#dead) this.#touch();
    return !this.#dead;
  }

  /** What the daemon's gate says, once it is known. Frames that were made before get the number of the session. */
  admitted(gate) {
    const admitted = gate(this.fn, JSON.parse(this.#event), () => traceIdOf(this.#traceparent));
    this.#event = null;
    if (admitted) this.#text = this.#link.numbered(this.#text);
    else this.#giveUp(null, !this.over);
    return admitted;
  }

  /** All that can be sent by now. */
  take() {
    if (!this.#recorder.wholeCalls) this.#closeAsks();
    const text = this.#text;
    this.#text = '';
    this.#touched = false;
    // Nothing but the question for the daemon's gate.
    if (text === '') return '';
    this.#count(-this.#size);
    this.#sent = true;
    return text;
  }

  end(output) {
    if (this.over) return;
    if (this.#isSilent()) this.over = true;
    else this.#finish(`,"output":${this.encode(output)}`);
  }

  raise(error) {
    if (this.over) return;
    if (this.#isSilent()) this.over = true;
    else this.#finish(`,"raised":${errorText(error, false)}`);
  }

  #finish(rest) {
    const ms = Math.round((liveMonotonic() - this.#began) * 1000) / 1000;
    const end = `${rest}${this.lossy ? ',"lossy":true' : ''},"ms":${ms}`;
    this.over = true;
    if (this.#recorder.wholeCalls) {
      const whole = `${this.#head},"asks":[${this.#items}]${end}`;
      this.#items = this.#head = '';
      this.#count(-this.#size);
      if (!this.#fits(whole)) return;
      this.#frame('call', whole);
    } else {
      if (!this.#fits(end)) return;
      this.#closeAsks();
      this.#frame('call.end', `,"call":${this.number}${end}`);
    }
    this.#recorder.ended();
  }

  // What a context asks of its peer.

  isLive() {
    return this.over || this.#isSilent() || surroundings.storage.getStore() === OFF;
  }

  encode(value) {
    const text = exactText(value);
    if (text !== null) return text;
    this.lossy = true;
    return nearestText(value);
  }

  ask(call, method, rest, live) {
    const value = live();
    const text = typeof value === 'number' ? value + '' : JSON.stringify(value);
    this.#say(method, `"ask":${this.asked++}${rest},"value":${text}`);
    return value;
  }

  askPlain(call, method, rest, live) {
    return this.ask(call, method, rest, live);
  }

  tell(call, method, rest) {
    if (this.isLive()) return;
    if (method !== 'escaped') this.#say(method, rest.slice(1));
    else if (this.#fits(rest) && !this.#recorder.wholeCalls) {
      this.#closeAsks();
      this.#frame(method, `,"call":${this.number}${rest}`);
    }
  }

  respond(call, key, produce, rest) {
    const ask = this.#question(rest);
    let promise;
    try {
      const value = surroundings.storage.run(OFF, produce);
      promise = isPlainPromise(value) ? value : Promise.resolve(value);
    } catch (error) {
      promise = Promise.reject(error);
    }
    return this.#answered(ask, promise);
  }

  /** The same for a method of a client, whose own value, error, promise or thenable comes back. */
  effect(question, args, run, self) {
    if (this.#isSilent()) return Reflect.apply(run, self, args);
    const ask = this.#question(question.text + argumentsText(args, this));
    let value;
    try {
      value = surroundings.storage.run(OFF, Reflect.apply, run, self, args);
    } catch (error) {
      this.#settle(ask, this.#errorMember(error));
      throw error;
    }
    if (!isThenable(value)) {
      question.answeredAtOnce();
      this.#settle(ask, this.#valueMember(value));
      return value;
    }
    question.answeredLater();
    if (isPlainPromise(value)) return withMembersOf(value, this.#answered(ask, value));
    return observed(
      value,
      (answer) => this.#settle(ask, this.#valueMember(answer)),
      (error) => this.#settle(ask, this.#errorMember(error)),
    );
  }

  #question(rest) {
    const ask = this.asked++;
    if (++this.#open > 1) this.#several = true;
    this.#say('respond', `"ask":${ask}${rest}`);
    return ask;
  }

  #answered(ask, promise) {
    return promise.then(
      (value) => {
        const member = this.#valueMember(value);
        if (this.#several && this.#woken) return this.#inTurn(ask, member, value, false);
        this.#handOver(ask, member);
        return value;
      },
      (error) => {
        const member = this.#errorMember(error);
        if (this.#several && this.#woken) return this.#inTurn(ask, member, error, true);
        this.#handOver(ask, member);
        throw error;
      },
    );
  }

  #inTurn(ask, member, value, failed) {
    return new Promise((resolve, reject) => {
      this.#ready.push({ ask, member, value, go: failed ? reject : resolve });
    });
  }

  #handOver(ask, member) {
    this.#settle(ask, member);
    if (!this.#several || this.over) return;
    this.#woken = true;
    wake(this);
  }

  /** All that the last answer has woken has run. */
  turn() {
    this.#woken = false;
    do {
      const next = this.#ready.shift();
      if (next === undefined) return;
      this.#handOver(next.ask, next.member);
      next.go(next.value);
    } while (this.over);
  }

  #settle(ask, member) {
    this.#open--;
    if (!this.over) this.#say('respond.settle', `"ask":${ask}${member}`);
  }

  #valueMember(value) {
    if (this.over || this.#isSilent()) return '';
    const text = exactText(value);
    return text === null ? `,"value":${nearestText(value)},"lossy":true` : `,"value":${text}`;
  }

  #errorMember(error) {
    return this.over || this.#isSilent() ? '' : `,"error":${errorText(error, true)}`;
  }

  // Frames.

  #isSilent() {
    return this.#dead || this.#link.dead;
  }

  #say(method, members) {
    if (this.#isSilent() || !this.#fits(members)) return;
    const item = `{"m":"${method}","p":{${members}}}`;
    this.#items = this.#items === '' ? item : `${this.#items},${item}`;
    this.#count(item.length);
    if (this.#recorder.wholeCalls) return;
    if (this.#items.length > FULL) this.#closeAsks();
    if (!this.#touched) this.#touch();
  }

  #closeAsks() {
    if (this.#items === '') return;
    const asks = `,"call":${this.number},"asks":[${this.#items}]`;
    this.#items = '';
    this.#frame('asked', asks);
  }

  #frame(method, rest) {
    const frame = `{"jsonrpc":"2.0","method":"${method}","params":{"session":${this.#link.session}${rest}}}\n`;
    this.#text += frame;
    this.#count(frame.length);
    if (!this.#touched) this.#touch();
  }

  #touch() {
    this.#touched = true;
    this.#link.touch(this);
  }

  #count(size) {
    this.#size += size;
    this.#link.waiting += size;
  }

  // Whether there is room for it. The call is dropped where there is not.
  #fits(text) {
    if (this.#isTooLarge(text)) this.#drop('limit', true);
    else if (!this.#link.hasRoom(text.length)) this.#drop('queue', true);
    else return true;
    return false;
  }

  #isTooLarge(text) {
    const { largest } = this.#link;
    return text.length * 3 > largest && Buffer.byteLength(text) > largest;
  }

  #drop(reason, begun) {
    if (!this.#dead) this.#giveUp(reason, begun);
  }

  #giveUp(reason, begun) {
    this.#dead = true;
    this.#text = this.#items = this.#head = '';
    this.#count(-this.#size);
    const params = `{"session":${this.#link.session},"call":${this.number},"reason":"${reason}"}`;
    this.#link.forget(this, this.#sent ? `{"jsonrpc":"2.0","method":"call.drop","params":${params}}\n` : '');
    this.#recorder.gaveUp(reason, begun, this.#sent);
  }
}

function errorText(error, evidence) {
  try {
    const e = toE(error, { evidence });
    return exactText(e) ?? nearestText(e);
  } catch {
    return '{"type":"Error","message":""}'; // one whose getters throw
  }
}

// Calls that an answer has woken since the last turn. Armed by a microtask, so that the tick comes when there are no
// more of these, wherever in the turn we are now.
let woken = [];

function wake(call) {
  woken.push(call);
  if (woken.length === 1) done.then(arm);
}

const done = Promise.resolve();

const arm = () => process.nextTick(turn);

function turn() {
  const calls = woken;
  woken = [];
  for (const call of calls) call.turn();
}
