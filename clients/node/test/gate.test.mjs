// A gate means the same here as in every other client, and never breaks the call it is asked about.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import test from 'node:test';
import { compileGate, givenGate, shareOf } from '../src/gate.mjs';

const VECTORS = new URL('../../../protocol/vectors/policy/gate/gate.json', import.meta.url);

if (fs.existsSync(VECTORS)) {
  const { cases, traces } = JSON.parse(fs.readFileSync(VECTORS, 'utf8'));
  assert.ok(cases.length > 0 && traces.length > 0);
  for (const { name, gate, fn, event, trace, draw, recorded } of cases) {
    test(`vector: ${name}`, () =>
      assert.equal(
        givenGate(gate, () => draw)(fn, event, () => trace),
        recorded,
      ));
  }
  test('vectors: every trace has its share', () => {
    for (const { trace, share } of traces) assert.equal(shareOf(trace), share);
  });
} else {
  test('the vectors are not beside this folder', { skip: true }, () => {});
}

const hostile = {
  get user() {
    throw new Error('a getter');
  },
};

const EVALUATED = {
  'a function': [(fn, event) => fn === 'f' && event.n === 1, { n: 1 }, true],
  'a function that says something true': [() => 'yes', null, true],
  'a function that throws': [
    () => {
      throw new Error('no');
    },
    null,
    false,
  ],
  'a function that promises': [async () => true, null, false],
  'a function that breaks its promise': [
    async () => {
      throw new Error('no');
    },
    null,
    false,
  ],
  'an event with a getter that throws': [{ where: { '/user': 'u1' } }, hostile, false],
  'an inherited member is none': [{ where: { '/constructor/name': 'Object' } }, {}, false],
  'the length of an array is no member': [{ where: { '/length': 0 } }, [], false],
  'a date, as it will be written': [{ where: { '/at': '1970-01-01T00:00:00.000Z' } }, { at: new Date(0) }, true],
  'a member that is absent in one': [{ where: { '/o': { a: 1 } } }, { o: { a: 1, b: 2 } }, false],
  'an array is no object': [{ where: { '/o': {} } }, { o: [] }, false],
};

for (const [name, [gate, event, recorded]] of Object.entries(EVALUATED)) {
  test(`evaluated: ${name}`, () =>
    assert.equal(
      compileGate(gate)('f', event, () => null),
      recorded,
    ));
}

const REFUSED = [
  4,
  [],
  'f',
  { functions: 'f*' },
  { where: ['/a'] },
  { where: { a: 1 } },
  { sample: 2 },
  { sample: '1' },
];

for (const gate of REFUSED) {
  test(`refused: ${JSON.stringify(gate)}`, () => {
    assert.throws(() => compileGate(gate), TypeError);
    assert.equal(
      givenGate(gate)('f', {}, () => null),
      false,
    );
  });
}

test('a share of the calls without a trace is drawn from a source of its own', () => {
  const random = Math.random;
  Math.random = () => 0;
  try {
    const gate = compileGate({ sample: 0.25 });
    let passed = 0;
    for (let i = 0; i < 4000; i++) if (gate('f', null, () => null)) passed++;
    assert.ok(passed > 700 && passed < 1300, String(passed));
  } finally {
    Math.random = random;
  }
});

test('names with many stars take no longer than name times pattern', () => {
  const gate = compileGate({ functions: ['*a'.repeat(60) + 'b'] });
  assert.equal(
    gate('a'.repeat(5000), null, () => null),
    false,
  );
});
