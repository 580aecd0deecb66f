import assert from 'node:assert/strict';
import test from 'node:test';
import { NotJSON } from '../src/errors.mjs';
import { decoded, encode } from '../src/values.mjs';

const LONE = JSON.parse('"\\ud800"');

class Point {
  constructor(x) {
    this.x = x;
  }
}

const nested = (levels) => {
  let value = [];
  for (let i = 1; i < levels; i++) value = [value];
  return value;
};

const TAKEN = {
  'nothing is null': [undefined, 'null'],
  null: [null, 'null'],
  'minus zero has no sign': [-0, '0'],
  'minus zero inside': [[-0], '[0]'],
  'a large number': [1e21, '1e+21'],
  'a small number': [1e-7, '1e-7'],
  'line separators stay': ['\u2028\u2029\u0085', '"\u2028\u2029\u0085"'],
  'a lone surrogate is escaped': [LONE, '"\\ud800"'],
  'a lone surrogate as a key': [{ [LONE]: 1 }, '{"\\ud800":1}'],
  'holes are null': [[1, , 3], '[1,null,3]'],
  'a class instance is its fields': [new Point(1), '{"x":1}'],
  'an object without a prototype': [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  '__proto__ is an ordinary key': [JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  'one value twice is no cycle': [((shared) => [shared, shared])({ a: 1 }), '[{"a":1},{"a":1}]'],
  '1000 levels': [nested(1000), '['.repeat(1000) + ']'.repeat(1000)],
};

for (const [name, [value, text]] of Object.entries(TAKEN)) {
  test(`taken: ${name}`, () => {
    assert.equal(encode(value, 'output'), text);
    assert.deepEqual(decoded(value, text), JSON.parse(text));
  });
}

const cycle = { a: { list: [1] } };
cycle.a.list.push(cycle);

const REFUSED = {
  NaN: [NaN, ''],
  'an infinity inside': [{ a: [1, Infinity] }, '/a/1'],
  'undefined inside': [{ a: { b: undefined } }, '/a/b'],
  'undefined in an array': [[1, undefined], '/1'],
  'a function': [{ 'a/b~c': () => 1 }, '/a~1b~0c'],
  'a symbol': [[Symbol('s')], '/0'],
  'a bigint': [{ id: 1n }, '/id'],
  'a cycle': [cycle, '/a/list/1'],
  'a Date': [{ at: new Date(0) }, '/at'],
  'a Map': [{ m: new Map([[1, 2]]) }, '/m'],
  'a Set': [new Set([1]), ''],
  'a RegExp': [[/x/], '/0'],
  bytes: [{ b: Buffer.from('x') }, '/b'],
  'a typed array': [new Float64Array(2), ''],
  'an ArrayBuffer': [[new ArrayBuffer(2)], '/0'],
  'a boxed string': [[new String('x')], '/0'],
  'an Error': [{ e: new Error('x') }, '/e'],
  'a Promise': [{ p: Promise.resolve(1) }, '/p'],
  'a toJSON method': [{ u: { toJSON: () => 1 } }, '/u'],
  'a URL': [{ u: new URL('http://a') }, '/u'],
  'an instance without fields': [{ s: new URLSearchParams('a=1') }, '/s'],
  '1001 levels': [nested(1001), '/0'.repeat(1000)],
};

for (const [name, [value, pointer]] of Object.entries(REFUSED)) {
  test(`refused: ${name}`, () => {
    assert.throws(
      () => encode(value, 'output'),
      (error) =>
        error instanceof NotJSON &&
        error instanceof TypeError &&
        error.pointer === pointer &&
        error.message.includes(pointer),
    );
  });
}
