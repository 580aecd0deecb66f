import assert from 'node:assert/strict';
import test from 'node:test';
import { DeterminismError, HandlerError, RecordedError, fromWire, revive, toE } from '../src/errors.mjs';

class Declined extends Error {}

const named = Object.assign(new Error('m'), { name: 'Named' });

const WRITTEN = {
  'an Error': [new Error('m'), { type: 'Error', message: 'm' }],
  'a class that kept the name Error': [new Declined('m'), { type: 'Declined', message: 'm' }],
  'a name of its own': [named, { type: 'Named', message: 'm' }],
  'a TypeError': [new TypeError('m'), { type: 'TypeError', message: 'm' }],
  'a HandlerError': [
    new HandlerError('Error', 'm', { data: { a: 1 } }),
    { type: 'Error', message: 'm', data: { a: 1 } },
  ],
  'a RecordedError': [
    new RecordedError('KeyError', "'a'", { args: ['a'] }),
    { type: 'KeyError', message: "'a'", args: ['a'] },
  ],
  'a string': ['boo', { type: 'string', message: 'boo' }],
  undefined: [undefined, { type: 'undefined', message: 'undefined' }],
  'an object without toString': [Object.create(null), { type: 'object', message: 'object' }],
};

for (const [name, [thrown, e]] of Object.entries(WRITTEN)) {
  test(`written: ${name}`, () => assert.deepEqual(toE(thrown), e));
}

test("written as evidence: an error's own plain fields", () => {
  const error = Object.assign(new Error('m'), { code: 'ENOENT', errno: -2, deep: {} });
  assert.deepEqual(toE(error, { evidence: true }), {
    type: 'Error',
    message: 'm',
    data: { code: 'ENOENT', errno: -2 },
  });
});

const REVIVED = {
  "the language's own class": [{ type: 'RangeError', message: 'm' }, RangeError, { message: 'm' }],
  Error: [{ type: 'Error', message: 'm' }, Error, { name: 'Error' }],
  'an AggregateError': [{ type: 'AggregateError', message: 'm' }, AggregateError, { message: 'm' }],
  'a global that is no error': [
    { type: 'Function', message: 'm' },
    RecordedError,
    { type: 'Function', name: 'Function' },
  ],
  'a global that is no class': [{ type: 'parseInt', message: 'm' }, RecordedError, { type: 'parseInt' }],
  'an unknown class': [
    { type: 'KeyError', message: 'm', data: { code: 7 } },
    RecordedError,
    { name: 'KeyError', code: 7 },
  ],
  'fields come back': [
    { type: 'Error', message: 'm', data: { code: 'ENOENT', message: 'other' } },
    Error,
    { code: 'ENOENT', message: 'm' },
  ],
  'a registered class': [{ type: 'Declined', message: 'm' }, Declined, { message: 'm' }],
};

for (const [name, [e, kind, fields]] of Object.entries(REVIVED)) {
  test(`revived: ${name}`, () => {
    const cause = new Error('the original');
    const error = revive(e, { Declined: ({ message }) => new Declined(message) }, cause);
    assert.equal(Object.getPrototypeOf(error), kind.prototype);
    for (const [field, value] of Object.entries(fields)) assert.equal(error[field], value);
    assert.equal(error.cause, cause);
    assert.deepEqual([toE(error).type, toE(error).message], [e.type, e.message]);
  });
}

test('a divergence says its kind', () => {
  const error = fromWire({
    code: -32010,
    message: 'm',
    data: { kind: 'exhausted', message: 'now was asked too often' },
  });
  assert.ok(error instanceof DeterminismError);
  assert.deepEqual(
    [error.kind, error.message, error.name],
    ['exhausted', 'now was asked too often', 'DeterminismError'],
  );
});

for (const [code, name] of [
  [-32003, 'CallEnded'],
  [-32800, 'Cancelled'],
  [-32012, 'Forbidden'],
  [-32013, 'LimitExceeded'],
  [-32602, 'ProtocolError'],
  [-32603, 'ProtocolError'],
]) {
  test(`${code} is ${name}`, () => assert.equal(fromWire({ code, message: 'm' }).name, name));
}
