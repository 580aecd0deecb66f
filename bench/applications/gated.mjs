// Calls that are not recorded, each way that a call can be refused, beside the function itself.
//
//   node gated.mjs
//
// Told in a line which way and how many calls ({"way", "calls"}), it answers {"wall", "cpu"} in microseconds a call.
import readline from 'node:readline';
import { attach } from '../../clients/node/index.mjs';

const event = { user: 'alice', effects: 0 };
const work = ({ user }) => ({ user, total: 0 });

const ways = {
  plain: work,
  off: attach({ enabled: false }).wrap('work', work),
  functions: attach({ gate: { functions: ['others'] } }).wrap('work', work),
  where: attach({ gate: { where: { '/user': 'bob' } } }).wrap('work', work),
  sample: attach({ gate: { sample: 1e-9 } }).wrap('work', work),
};

function timed(work, calls) {
  const cpu = process.cpuUsage();
  const wall = process.hrtime.bigint();
  for (let i = 0; i < calls; i++) work(event);
  const took = Number(process.hrtime.bigint() - wall) / 1000;
  const used = process.cpuUsage(cpu);
  return { wall: took / calls, cpu: (used.user + used.system) / calls };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { way, calls } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(timed(ways[way], calls))}\n`);
}
