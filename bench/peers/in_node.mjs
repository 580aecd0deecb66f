// One run of a peer in a Node process:
//
//   node in_node.mjs harness|xag record LOG TO
//   node in_node.mjs harness|xag replay RECORDED
//
// Prints {"events", "seconds", "cpu"} from the end of the first event on: to the verdict, or to the file that is whole.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { account } from '../handlers/account.mjs';
import handler from '../handlers/event.mjs';

const CLOCK_START_MS = 1783036800000;
const SEED = 99;

const hrtime = process.hrtime.bigint;

/** `work` with a look at the clocks when it is called the second time, and what was used since then. */
function watched(work) {
  let calls = 0;
  let wall, cpu;
  const called = (...given) => {
    if (++calls === 2) [wall, cpu] = [hrtime(), process.cpuUsage()];
    return work(...given);
  };
  const taken = () => {
    const used = process.cpuUsage(cpu);
    return { events: calls - 1, seconds: Number(hrtime() - wall) / 1e9, cpu: (used.user + used.system) / 1e6 };
  };
  return [called, taken];
}

const eventsOf = (log) => readFileSync(log, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));

async function harness(how, from, to) {
  const peer = await import('./harness.mjs');
  const [called, taken] = watched(handler);
  if (how === 'replay') {
    const verdict = await peer.verifyDeterminism(peer.parseRecording(readFileSync(from, 'utf8')), called);
    const took = taken();
    if (!verdict.ok) throw new Error(`it diverged: ${JSON.stringify(verdict)}`);
    return took;
  }
  const events = eventsOf(from).map((event, seq) => ({ seq, event }));
  const recording = await peer.record({ events }, called, {
    clock: peer.steppingClock(CLOCK_START_MS),
    random: peer.seededRandom(SEED),
    id: 'bench',
    createdAt: new Date(CLOCK_START_MS).toISOString(),
  });
  writeFileSync(to, peer.serializeRecording(recording));
  return taken();
}

/** The handler for a recorder that puts its own functions in the place of the clock, the draw and an object's methods. */
const applicationOf = (world) => async ({ event }) => {
  const at = Date.now();
  const sampled = Math.random() < 0.2;
  const found = await world.account(event.n);
  return { at, sampled, ok: found.balance.amount >= event.amount };
};

async function xag(how, from, to) {
  const { boundaryOf, install, loadTape, replayCall, tool, wrap } = await import(
    '../../clients/node/node_modules/@xag/flight-recorder/src/index.js'
  );
  const world = wrap({ account: async (number) => account(number) }, ['account'], { prefix: 'world' });
  const [called, taken] = watched(applicationOf(world));
  const boundary = boundaryOf();
  if (how === 'replay') {
    const [name] = readdirSync(from).filter((each) => each.endsWith('.jsonl'));
    for (const call of loadTape(join(from, name)).calls) {
      const report = await replayCall({ call, fn: called, boundary });
      if (!report.ok) throw new Error(`it diverged: ${JSON.stringify(report)}`);
    }
    return taken();
  }
  install(boundary, { directory: to });
  const recorded = tool('handler', called);
  for (const event of eventsOf(from)) await recorded({ event });
  return taken();
}

const [, , peer, ...job] = process.argv;
process.stdout.write(`${JSON.stringify(await { harness, xag }[peer](...job))}\n`);
// What a recorder still has in hand is written at the exit.
process.exit(0);
