// An application whose calls are recorded, or not. Told in a line to make some, it answers what each of them took.
//
//   node effects.mjs SIDE FOLDER SETTINGS
//
// The line is {"calls", "effects"}, the answer {"wall", "cpu"} in microseconds a call, of this process and all its
// threads. Of SETTINGS, `world` is how effects answer and `atOnce` how many calls are open at once; the rest is attach's.
import readline from 'node:readline';

const answer = (id) => ({ id, name: 'Ada Lovelace', level: 7, active: true });

// In a turn of its own, as all that comes from outside does, or without one.
const worlds = {
  turn: { fetch: (key) => new Promise((resolve) => setImmediate(resolve, answer(key))) },
  microtask: { fetch: async (key) => answer(key) },
};

const workOf =
  (world) =>
  async ({ user, effects }) => {
    let total = 0;
    for (let i = 0; i < effects; i++) total += (await world.fetch(user)).level;
    return { user, total };
  };

const sides = {
  plain: async (world) => workOf(world),
  playhead: async (world, out, settings) => {
    const { attach, wrap } = await import('../../clients/node/index.mjs');
    return attach({ out, ...settings }).wrap('work', workOf(wrap(world, ['fetch'], { prefix: 'world' })));
  },
  xag: async (world, directory) => {
    const { boundaryOf, install, tool, wrap } = await import(
      '../../clients/node/node_modules/@xag/flight-recorder/src/index.js'
    );
    install(boundaryOf({ clock: false, random: false }), { directory });
    return tool('work', workOf(wrap(world, ['fetch'], { prefix: 'world' })));
  },
};
sides.policy = sides.playhead;

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function timed(work, atOnce, calls, effects) {
  const event = { user: 'alice', effects };
  const cpu = process.cpuUsage();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < calls; i += atOnce) {
    if (atOnce === 1) await work(event);
    else await Promise.all(Array.from({ length: Math.min(atOnce, calls - i) }, () => work(event)));
  }
  // What the last turn of the calls left to write is the application's too.
  await turn();
  await turn();
  const took = Number(process.hrtime.bigint() - wall) / 1000;
  const used = process.cpuUsage(cpu);
  return { wall: took / calls, cpu: (used.user + used.system) / calls };
}

const [, , side, folder, given] = process.argv;
const { world, atOnce, ...settings } = JSON.parse(given);
const work = await sides[side](worlds[world], folder, settings);
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { calls, effects } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await timed(work, atOnce, calls, effects))}\n`);
}
// What the recorder has in hand is written at the exit.
process.exit(0);
