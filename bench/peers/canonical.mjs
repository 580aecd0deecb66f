// Canonical text and hash of every line of a file of JSON, as a program in Node does it by hand: recursive, with sorted keys.
//
//     node canonical.mjs FILE
//
// Each line on stdin is one turn over the whole file; it is answered with a line of two words: the microseconds that
// the process had on a core for it, and the SHA-256 of all hashes.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

function text(value, above) {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${value} is not JSON`);
      return JSON.stringify(value);
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'object':
      break;
    default:
      throw new TypeError(`a ${typeof value} is not JSON`);
  }
  if (above.has(value)) throw new TypeError('the value contains itself');
  above.add(value);
  let out;
  if (Array.isArray(value)) {
    out = '';
    for (let index = 0; index < value.length; index++) {
      if (index > 0) out += ',';
      out += text(value[index], above);
    }
    out = `[${out}]`;
  } else {
    const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${text(value[key], above)}`);
    out = `{${members.join(',')}}`;
  }
  above.delete(value);
  return out;
}

const bytes = readFileSync(process.argv[2]);

function turn() {
  const all = createHash('sha256');
  for (const line of bytes.toString('utf8').split('\n')) {
    all.update(createHash('sha256').update(text(JSON.parse(line), new Set())).digest('hex'));
  }
  return all.digest('hex');
}

for await (const _ of createInterface({ input: process.stdin })) {
  const before = process.cpuUsage();
  const hash = turn();
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(`${user + system} ${hash}\n`);
}
