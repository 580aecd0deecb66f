// A folder of recordings as subtests of node:test: `playhead verify FOLDER --json` judges, this reports what it said.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

// A file that playhead hosts; anything else is a command.
const HOSTED = /\.[cm]?[jt]s$/;
// Many recordings, all of which differ, print much.
const MOST_BYTES = 1024 ** 3;
// A text of JSON, or a number.
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const LITERAL = '\u0000literal ';

/**
 * Replay the recordings of a folder, or one recording, against the handler that the words start: a subtest of `t` each.
 * What verifies is the program `playhead`, found on PATH or named by the environment variable PLAYHEAD.
 */
export async function verify(t, recordings, ...handler) {
  const where = recordings instanceof URL ? fileURLToPath(recordings) : recordings;
  for (const result of await verdicts(where, handler)) {
    await t.test(path.basename(result.recording), () => {
      if (!result.ok) assert.fail(failure(result));
    });
  }
}

async function verdicts(recordings, handler) {
  const program = process.env.PLAYHEAD || 'playhead';
  const hosted = handler.length === 1 && HOSTED.test(handler[0]);
  const words = ['verify', recordings, '--json', ...(hosted ? ['--handler', ...handler] : ['--', ...handler])];
  const { error, stdout, stderr } = await run(program, words);
  if (typeof error?.code === 'string' && stdout === '') {
    const advice = 'install it (pip install playhead), or name it in the environment variable PLAYHEAD';
    assert.fail(`${program} cannot be started: ${error.message}; ${advice}`);
  }
  const told = read(stdout);
  if (told?.error) assert.fail([told.error.message, told.error.hint].filter(Boolean).join('; '));
  if (!Array.isArray(told?.results)) {
    assert.fail(`${[program, ...words].join(' ')} gave no verdict: ${error?.message ?? stdout}\n${stderr}`);
  }
  // Nothing that was verified is no success; nor are verdicts that the exit status does not bear out.
  if (told.results.length === 0 || told.ok !== (error === null)) {
    assert.fail(`nothing was verified in ${recordings}\n${stderr}`);
  }
  return told.results;
}

function run(program, words) {
  return new Promise((done) => {
    execFile(program, words, { maxBuffer: MOST_BYTES }, (error, stdout, stderr) => done({ error, stdout, stderr }));
  });
}

/** What was printed, numbers that JavaScript would round in their own digits; undefined where it is no JSON. */
function read(text) {
  try {
    return JSON.parse(
      text.replace(TOKEN, (token) =>
        token[0] === '"' || String(Number(token)) === token ? token : JSON.stringify(LITERAL + token),
      ),
    );
  } catch {
    return undefined;
  }
}

const shown = (value) => JSON.stringify(value).replace(/"\\u0000literal ([^"]*)"/g, '$1');

function failure({ error, divergence }) {
  if (error) return error.message;
  if (!divergence) return 'it diverged';
  const { kind, seq, pointer, message } = divergence;
  const place = seq === undefined || seq === null ? '' : `event ${seq}  ${pointer ?? ''}  `;
  const values = ['expected', 'actual'].filter((side) => side in divergence);
  return [`${place}${message} (${kind})`, ...values.map((side) => `  ${side.padEnd(8)}  ${shown(divergence[side])}`)].join(
    '\n',
  );
}
