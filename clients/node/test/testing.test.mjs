// Recordings as tests: what `node --test` makes of a file that has the three lines of the README.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { CLIENT, HOST, file } from './daemon.mjs';

const ROOT = path.join(CLIENT, '..', '..');
const GOLDEN = path.join(ROOT, 'protocol', 'vectors', 'tape', 'recordings', 'incident-4211.golden.json');
const EXAMPLES = path.join(CLIENT, 'examples');
const CHARGE = path.join(EXAMPLES, 'charge.mjs');
const DRIFTED = path.join(EXAMPLES, 'charge_drifted.mjs');

// The one that PLAYHEAD names, that of this project, or the one on PATH.
const own = path.join(ROOT, '.venv', 'bin', 'playhead');
const playhead = process.env.PLAYHEAD || (fs.existsSync(own) ? own : 'playhead');
const found = fs.existsSync(GOLDEN) && spawnSync(playhead, ['--version']).status === 0;
const skip = found ? false : 'there is no playhead, or no recordings of the protocol beside this folder';

const place = fs.mkdtempSync(path.join(os.tmpdir(), 'playhead-testing-'));
process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }));

/** A new folder with these files in it. */
function folder(files) {
  const made = fs.mkdtempSync(path.join(place, 'recordings-'));
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(made, name), text);
  return made;
}

/** A recording of these events, as `handler` answers them. */
function recorded(events, handler) {
  const made = folder({ 'events.json': events });
  const words = ['record', 'events.json', '--handler', handler, '--clock-start', '0', '--seed', '1', '-o', 'made.json'];
  const { status, stderr } = spawnSync(playhead, words, { cwd: made, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return fs.readFileSync(path.join(made, 'made.json'), 'utf8');
}

/** What `node --test` says of a file whose `verify` is given these, as expressions, and how it ends. */
function tested(given, env = {}) {
  const source = `
import test from 'node:test';
import { verify } from ${JSON.stringify(pathToFileURL(path.join(CLIENT, 'src', 'testing.mjs')).href)};
test('recordings', (t) => verify(t, ${given}));
`;
  const argv = ['--test', '--test-reporter=tap', file(source, '.test.mjs')];
  // A test runner under this one, which knows nothing of it.
  const { NODE_TEST_CONTEXT, ...rest } = process.env;
  const child = spawn(process.execPath, argv, { cwd: place, env: { ...rest, PLAYHEAD: playhead, ...env } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (more) => (text += more));
  return new Promise((done) => child.on('close', (code) => done({ code, text })));
}

const words = (...values) => values.map((value) => JSON.stringify(value)).join(', ');

/** `code`, and that all of `parts` are in what was said and none of `not`. */
async function check(given, code, parts, { env, not = [] } = {}) {
  const told = await tested(given, env);
  assert.equal(told.code, code, told.text);
  for (const part of parts) assert.match(told.text, part);
  for (const part of not) assert.doesNotMatch(told.text, part);
}

test('a folder whose recordings are all as they were passes, a subtest each', { skip }, async () => {
  const golden = fs.readFileSync(GOLDEN);
  const recordings = folder({ 'a.json': golden, 'b.json': golden });
  await check(words(recordings, CHARGE), 0, [/^ +ok 1 - a\.json$/m, /^ +ok 2 - b\.json$/m], { not: [/not ok/] });
  // The handler as a command, the folder as an address.
  const address = `new URL(${words(pathToFileURL(recordings).href)})`;
  await check(`${address}, ${words(process.execPath, HOST, CHARGE)}`, 0, [/^ +ok 2 - b\.json$/m], { not: [/not ok/] });
});

test('one that drifted fails with its place and both values, and the others are told all the same', { skip }, async () => {
  const recordings = folder({ 'drifted.json': fs.readFileSync(GOLDEN), 'good.json': recorded('[{"amount":300}]', CHARGE) });
  await check(words(recordings, DRIFTED), 1, [
    /^ +not ok 1 - drifted\.json$/m,
    /event 1 {2}\/approved {2}the output differs at \/approved \(output\)/,
    /expected {2}true/,
    /actual {4}false/,
    /^ +ok 2 - good\.json$/m,
    /^not ok 1 - recordings$/m,
  ]);
});

test('integers that JavaScript rounds are shown in their own digits', { skip }, async () => {
  const python = folder({ 'echo.py': 'def handler(event, ctx):\n    return event\n' });
  const made = recorded('[9007199254740993]', path.join(python, 'echo.py'));
  const recordings = folder({ 'echo.json': made });
  await check(words(recordings, file('export default (event) => event;')), 1, [
    /expected {2}9007199254740993$/m,
    /actual {4}9007199254740992$/m,
  ]);
});

test('nothing that was verified is no success', { skip }, async () => {
  const missing = path.join(place, 'nowhere');
  const recordings = folder({ 'a.json': fs.readFileSync(GOLDEN) });
  await check(words(folder({}), CHARGE), 1, [/no recordings/, /nothing is verified/]);
  await check(words(missing, CHARGE), 1, [/not ok 1 - nowhere/, /No such file/]);
  await check(words(recordings, missing), 1, [/the handler cannot be started/, /is the command installed/]);
  await check(words(folder({ 'a.json': '{' }), CHARGE), 1, [/not ok 1 - a\.json/]);
});

test('without playhead a test says what to do', async () => {
  await check(words(place, CHARGE), 1, [/cannot be started/, /pip install playhead/, /PLAYHEAD/], {
    env: { PLAYHEAD: path.join(place, 'no-playhead') },
  });
});

test('a program that is no playhead gave no verdict', async () => {
  await check(words(place, CHARGE), 1, [/gave no verdict/], { env: { PLAYHEAD: process.execPath } });
  const lies = folder({ lies: `#!/bin/sh\necho '{"ok":true,"results":[]}'\n` });
  fs.chmodSync(path.join(lies, 'lies'), 0o700);
  await check(words(place, CHARGE), 1, [/nothing was verified/], { env: { PLAYHEAD: path.join(lies, 'lies') } });
});
