/** Recordings in tests: `import { verify } from 'playhead-client/testing'`. */

/** What a test of node:test is given, as far as it is needed here. */
export interface Test {
  test(name: string, run: () => void): Promise<unknown>;
}

/**
 * Replays the recordings of a folder, or one recording, against a handler: a subtest of `t` each. One that diverges
 * fails, and its failure says where and shows both values. A folder without a recording fails too.
 *
 * `handler` is one file that playhead hosts (`.mjs`, `.js`, `.cjs`, `.ts`), or the words of the command that starts it.
 * What verifies is the program `playhead`, found on PATH or named by the environment variable PLAYHEAD.
 */
export function verify(t: Test, recordings: string | URL, ...handler: [string, ...string[]]): Promise<void>;
