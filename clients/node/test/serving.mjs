// A scripted `playhead serve` for the tests: keeps every frame it reads in a file, answers what has to be answered, and
// misbehaves as it is told.  node serving.mjs LOG [MODE]
//   gate={...}   gives this gate      late=MS   answers session.open after so long     deaf   reads nothing after it
//   refuse=TEXT  answers session.open with an error       die=N   ends after N frames  mute   answers nothing
//   forbid       tells that call 1 was forbidden          babble  prints no protocol
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const SELF = fileURLToPath(import.meta.url);

/** What attach() is given for `daemon`. */
export const serving = (log, ...modes) => [process.execPath, SELF, log, ...modes];

/** The frames that a daemon has read by now. */
export function framesOf(log) {
  if (!fs.existsSync(log)) return [];
  const lines = fs.readFileSync(log, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line));
}

/**
 * The calls as a daemon knows them: {call, seq, fn, event, traceparent?, asks: [...], output | raised, lossy?,
 * dropped?}. An ask is [method, params without ask and call].
 */
export function callsOf(log) {
  const calls = new Map();
  for (const { method, params } of framesOf(log)) {
    const call = params?.call === undefined ? undefined : calls.get(params.call);
    if (method === 'call.begin') {
      if (calls.has(params.call)) throw new Error(`call ${params.call} began twice`);
      calls.set(params.call, begun(params));
    } else if (method === 'call') {
      calls.set(params.call, { ...begun(params), asks: params.asks.map(asked), ...ended(params) });
    } else if (method === 'asked') call.asks.push(...params.asks.map(asked));
    else if (method === 'call.end') Object.assign(call, ended(params));
    else if (method === 'call.drop') call.dropped = params.reason;
    else if (call !== undefined) call.asks.push([method, withoutCall(params)]);
  }
  return [...calls.values()];
}

const begun = ({ call, seq, fn, event, traceparent }) =>
  traceparent === undefined ? { call, seq, fn, event, asks: [] } : { call, seq, fn, event, traceparent, asks: [] };

const asked = ({ m, p }) => [m, p];

function ended({ output, raised, lossy, ms }) {
  if (typeof ms !== 'number') throw new Error('a call.end without ms');
  return { ...(raised === undefined ? { output } : { raised }), ...(lossy === undefined ? {} : { lossy }) };
}

const withoutCall = ({ session, call, ...rest }) => rest;

function serveFrames([log, ...words]) {
  const modes = Object.fromEntries(words.map((word) => word.split(/=(.*)/s)));
  const file = fs.openSync(log, 'a');
  fs.writeFileSync(`${log}.pid`, String(process.pid));
  let held = '';
  let seen = 0;
  const send = (message) => {
    try {
      fs.writeSync(1, `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    } catch {
      // The application is gone; what it has written is still to be read.
    }
  };
  if ('babble' in modes) fs.writeSync(1, 'Usage: something else\n');
  const opened = (id) => {
    if ('refuse' in modes)
      return send({ id, error: { code: -32602, message: 'refused', data: { message: modes.refuse } } });
    const gate = 'gate' in modes ? JSON.parse(modes.gate) : null;
    send({ id, result: { session: 7, gate, path: path.join(path.dirname(log), 'tape.jsonl') } });
    if ('deaf' in modes) {
      process.stdin.pause();
      setInterval(() => {}, 1000);
    }
    return undefined;
  };
  const answer = ({ id, method, params }) => {
    if ('mute' in modes || id === undefined) {
      if (method === 'call.begin' && params.call === 1 && 'forbid' in modes) {
        send({ method: 'call.dropped', params: { session: 7, call: params.call, reason: 'forbid' } });
      }
      return;
    }
    if (method === 'initialize')
      send({ id, result: { protocol: 1, daemon: { name: 'fake', version: '0' }, capabilities: {} } });
    else if (method !== 'session.open')
      send({ id, result: method === 'session.close' ? { calls: 1, hash: 'ff' } : {} });
    else if ('late' in modes) setTimeout(opened, Number(modes.late), id);
    else opened(id);
  };
  process.stdin.setEncoding('utf8').on('data', (text) => {
    const lines = (held + text).split('\n');
    held = lines.pop();
    for (const line of lines) {
      fs.writeSync(file, `${line}\n`);
      answer(JSON.parse(line));
      if (++seen === Number(modes.die)) process.exit(3);
    }
  });
  process.stdin.on('end', () => process.exit(0));
}

if (process.argv[1] === SELF) serveFrames(process.argv.slice(2));
