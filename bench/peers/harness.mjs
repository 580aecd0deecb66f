// A determinism harness in one Node process, in the way that the first of its kind documents itself: the handler reads
// everything through `ctx`, lanes of answers are taped on record and taken in turn on replay, values that cross are deep
// copies that have to be canonicalizable JSON, and the transcript's hash is the SHA-256 of its canonical form.
//
// What it leaves out: formatting, the command line, and every check of a file's shape but the version's.
import { createHash } from 'node:crypto';

export const RECORDING_VERSION = '1';

export class DeterminismError extends Error {}

export async function record(scenario, handler, { clock, random, id, createdAt }) {
  const lanes = { clock: [], random: [], responses: {} };
  const context = (seq) => ({
    seq,
    now() {
      const value = clock();
      lanes.clock.push(value);
      return value;
    },
    random() {
      const value = random();
      lanes.random.push(value);
      return value;
    },
    async respond(key, produce) {
      const value = cloneJson(await produce());
      (lanes.responses[key] ??= []).push(value);
      return cloneJson(value);
    },
  });
  const entries = await run(scenario.events, handler, context);
  return {
    meta: { recordingVersion: RECORDING_VERSION, id, createdAt },
    events: scenario.events.map(({ seq, event }) => ({ seq, event: cloneJson(event) })),
    ...lanes,
    transcript: { entries, hash: canonicalHash(entries) },
  };
}

export async function replay(recording, handler) {
  const clock = lane('clock', recording.clock);
  const random = lane('random', recording.random);
  const responses = new Map(Object.entries(recording.responses).map(([key, values]) => [key, lane(key, values)]));
  const context = (seq) => ({
    seq,
    now: clock,
    random,
    async respond(key) {
      const next = responses.get(key);
      if (next === undefined) throw new DeterminismError(`nothing was taped under ${JSON.stringify(key)}`);
      return cloneJson(next());
    },
  });
  const entries = await run(recording.events, handler, context);
  return { entries, hash: canonicalHash(entries) };
}

export async function verifyDeterminism(recording, handler) {
  const expectedHash = recording.transcript.hash;
  const actual = await replay(recording, handler);
  if (actual.hash === expectedHash) return { ok: true, expectedHash, actualHash: actual.hash };
  const at = recording.transcript.entries.findIndex(
    (entry, index) => stableStringify(entry) !== stableStringify(actual.entries[index] ?? null),
  );
  const divergence = {
    seq: at,
    expected: recording.transcript.entries[at]?.output,
    actual: actual.entries[at]?.output,
  };
  return { ok: false, expectedHash, actualHash: actual.hash, divergence };
}

async function run(events, handler, context) {
  const entries = [];
  for (const { seq, event } of events) {
    const output = await handler(cloneJson(event), context(seq));
    entries.push({ seq, output: cloneJson(output ?? null) });
  }
  return entries;
}

function lane(name, values) {
  let cursor = 0;
  return () => {
    if (cursor >= values.length) throw new DeterminismError(`the tape of ${name} holds ${values.length} values`);
    return values[cursor++];
  };
}

export const serializeRecording = (recording) => `${JSON.stringify(recording, null, 2)}\n`;

export function parseRecording(text) {
  const recording = JSON.parse(text);
  if (recording.meta.recordingVersion !== RECORDING_VERSION) throw new Error('an unknown version of recordings');
  return recording;
}

export function steppingClock(start, step = 1000) {
  let next = start - step;
  return () => (next += step);
}

/** mulberry32. */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** JSON text with the keys sorted at every depth; refuses what JSON would lose. */
export function stableStringify(value) {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} is not finite`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(stableStringify).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`${typeof value} is no JSON`);
  const members = [];
  for (const key of Object.keys(value).sort()) members.push(`${JSON.stringify(key)}:${stableStringify(value[key])}`);
  return `{${members.join(',')}}`;
}

export const canonicalHash = (value) => createHash('sha256').update(stableStringify(value)).digest('hex');

/** A deep copy, of what is canonicalizable. */
export const cloneJson = (value) => JSON.parse(stableStringify(value));
