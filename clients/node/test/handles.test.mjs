// Calls that wait unread: which frames are kept so, what is read from them, and that all that has to know of them does.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Handles, handleIn, isHandle } from '../src/handles.mjs';

const frame = (id, rest = '') => `{"jsonrpc":"2.0","id":${id},"method":"handle","params":{"call":7,"event":1}${rest}}`;

function kept(what, text, expected) {
  test(`kept: ${what}`, () => assert.equal(isHandle(text), expected));
}

kept('a handle as the daemon writes it', frame(3), true);
kept('not one with its members in another order', '{"id":3,"jsonrpc":"2.0","method":"handle","params":{"call":7}}', false);
kept('one that is not quite so, which is seen when it is read', frame(' 3'), true);
kept('not another request', frame(3).replace('handle', 'reset'), false);
kept('not an answer', '{"jsonrpc":"2.0","id":3,"result":{"method":"handle"}}', false);
kept('not a notification', '{"jsonrpc":"2.0","method":"handle","params":{"call":7}}', false);

// What is not read so is read as any other frame is: null, never something else than JSON.parse() gives.
function read(what, text, isRead) {
  test(`read: ${what}`, () => {
    assert.ok(isHandle(text));
    const { jsonrpc, ...whole } = isRead ? JSON.parse(text) : {};
    assert.deepEqual(handleIn(text), isRead ? whole : null);
  });
}

read('an id of one digit', frame(0), true);
read('an id of many', frame(123456789012345), true);
read('a negative id', frame(-5), true);
read('not an id with a nought before it', frame('007'), false);
read('not an id that is too long for a number', frame('12345678901234567890'), false);
read('not an id with a fraction', frame('1.5'), false);
read('not an id that is a text', frame('"a"'), false);
for (const word of ['NaN', 'Infinity', '1e999', '', ' 3', '0x1', 'true']) read(`not ${word} as an id`, frame(word), false);
read('not a frame with a member behind the parameters', frame(3, ',"method":"cancel"'), false);
read('not a frame that goes on', `${frame(3)}}`, false);
read('not a frame that is cut off', frame(3).slice(0, -1), false);
read('not a frame with CR behind it', `${frame(3)}\r`, false);

const waiting = (...numbers) => {
  const handles = new Handles((text) => (text === 'odd' ? null : { number: +text, window: { now: [1] }, cancelled: false }));
  for (const number of numbers) handles.put(String(number));
  return handles;
};
const taken = (handles) => {
  const all = [];
  for (let next = handles.take(); next !== undefined; next = handles.take()) all.push(next);
  return all;
};

test('those that wait come in their order, without those that are none', () => {
  assert.deepEqual(taken(waiting(1, 'odd', 2, 'odd')).map(({ number }) => number), [1, 2]);
});

test('a call that waits unread is cancelled', () => {
  const handles = waiting(1, 2, 3);
  handles.cancel(2);
  assert.deepEqual(taken(handles).map(({ cancelled }) => cancelled), [false, true, false]);
});

test('what was given ahead is taken out of calls that wait unread, and of no later one', () => {
  const handles = waiting(1, 2);
  handles.withdraw();
  handles.put('3');
  assert.deepEqual(taken(handles).map(({ window }) => window.now), [undefined, undefined, [1]]);
});
