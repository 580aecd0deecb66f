// misbehaving.py in another language: a handler without a client library, told by its events how to misbehave.
//
// No import of node:process: it looks at process.stdin, which makes descriptor 0 non-blocking under readSync.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';

const MIB = 1 << 20;

let unread = [];
let asked = 0;

function frame() {
  for (;;) {
    const last = unread.at(-1);
    const end = last === undefined ? -1 : last.indexOf(0x0a);
    if (end !== -1) {
      const line = Buffer.concat([...unread.slice(0, -1), last.subarray(0, end)]);
      unread = end + 1 < last.length ? [last.subarray(end + 1)] : [];
      return JSON.parse(line.toString());
    }
    const chunk = Buffer.alloc(1 << 16);
    const count = fs.readSync(0, chunk, 0, chunk.length, null);
    if (count === 0) process.exit(0);
    unread.push(chunk.subarray(0, count));
  }
}

function write(data, fd = 1) {
  const bytes = Buffer.from(data);
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done);
}

const send = (members) => write(`${JSON.stringify({ jsonrpc: '2.0', ...members })}\n`);

function sendAsk(method, params) {
  asked += 1;
  send({ id: asked, method, params });
}

function ask(method, params) {
  sendAsk(method, params);
  return reply();
}

function reply() {
  const { result, error } = frame();
  return error === undefined ? result : { code: error.code };
}

function stay() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

// Node hears a signal in its event loop alone.
const stayTurning = () => setInterval(() => {}, 60_000);

const ignore = (...signals) => signals.forEach((name) => process.on(name, () => {}));

const shell = (line) => spawnSync('/bin/sh', ['-c', line], { stdio: 'inherit' });

const answer = (id, output = 'done') => send({ id, result: { output } });

// At once, without what Node does at the end of a process.
function leave(status) {
  process.reallyExit(status);
}

function tell(path) {
  fs.writeFileSync(`${path}.part`, String(process.pid));
  fs.renameSync(`${path}.part`, path);
}

function staying(work) {
  return (id, call, event) => {
    work(id, call, event);
    stay();
  };
}

// A large frame that means nothing.
const shout = () => send({ method: 'unheard_of', params: { data: 'n'.repeat(8 * MIB) } });

const half = (id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"out`);

const DO = {
  nothing: (id) => answer(id),

  hang: () => stay(),
  spin: () => {
    for (;;);
  },
  ignore_sigterm: () => {
    ignore('SIGTERM', 'SIGINT');
    return stayTurning();
  },
  say_and_stay: (id, call, event) => {
    ignore('SIGTERM', 'SIGINT');
    tell(event.file);
    return stayTurning();
  },
  wait_at_fifo: (id, call, event) => {
    tell(event.file + process.pid);
    fs.readSync(fs.openSync(event.fifo), Buffer.alloc(1));
    answer(id);
  },
  stop_itself: staying(() => process.kill(process.pid, 'SIGSTOP')),
  answer_at_sigterm: (id) => {
    process.on('SIGTERM', () => answer(id));
    return stayTurning();
  },
  close_stdin: staying(() => fs.closeSync(0)),
  close_stdout: staying(() => fs.closeSync(1)),
  ask_without_reading: (id, call) => {
    for (let number = 0; ; number++) sendAsk('now', { call, ask: number });
  },
  flood_stray_lines: () => {
    for (;;) write('still here\n'.repeat(1000));
  },
  keep_noting: (id, call) => {
    for (;;) send({ method: 'note', params: { call, name: 'still here' } });
  },

  exit_0: () => {
    write('giving up\n', 2);
    leave(0);
  },
  exit_3: () => leave(3),
  die_by_sigkill: staying(() => process.kill(process.pid, 'SIGKILL')),
  die_by_sigsegv: staying(() => process.kill(process.pid, 'SIGSEGV')),
  answer_and_exit: (id) => {
    answer(id);
    leave(0);
  },
  die_with_much_to_say: () => {
    write(`${'x'.repeat(79)}\n`.repeat((4 * MIB) / 80), 2);
    write('the last words\n', 2);
    leave(9);
  },

  answer_twice: (id) => {
    answer(id);
    answer(id);
  },
  answer_twice_later: staying((id) => {
    answer(id);
    frame();
    answer(id);
  }),
  answer_unknown_id: staying((id) => answer(id + 1000)),
  answer_id_as_text: staying((id) => answer(String(id))),
  answer_null_id: staying(() => send({ id: null, error: { code: -32700, message: 'cannot read this' } })),
  half_frame: (id) => {
    half(id);
    leave(0);
  },
  half_frame_and_hang: staying(half),
  half_frame_and_close: staying((id) => {
    half(id);
    fs.closeSync(1);
  }),
  answer_and_half_frame: (id) => {
    answer(id);
    write('{"jsonrpc":"2.0","met');
    leave(0);
  },
  bad_utf8: staying((id) => {
    write(Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"output":"`), Buffer.from([0xff]), Buffer.from('"}}\n')]));
  }),
  nan: staying((id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"output":NaN}}\n`)),
  duplicate_key: staying((id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"output":{"a":1,"a":2}}}\n`)),
  too_deep: staying((id) => {
    write(`{"jsonrpc":"2.0","id":${id},"result":{"output":${'['.repeat(1001)}${']'.repeat(1001)}}}\n`);
  }),
  batch: staying((id) => write(`[{"jsonrpc":"2.0","id":${id},"result":{"output":"done"}}]\n`)),
  request_id_null: staying((id, call) => send({ id: null, method: 'now', params: { call, ask: 0 } })),
  request_id_fraction: staying((id, call) => send({ id: 1.5, method: 'now', params: { call, ask: 0 } })),
  neither_output_nor_raised: staying((id) => send({ id, result: {} })),
  output_and_raised: staying((id) => send({ id, result: { output: 1, raised: { type: 'E', message: 'm' } } })),
  raised_without_type: staying((id) => send({ id, result: { raised: { message: 'm' } } })),
  error_for_handle: staying((id) => send({ id, error: { code: -32603, message: 'internal error' } })),
  flood_stdout_without_newline: () => {
    const chunk = 'x'.repeat(MIB);
    for (;;) write(chunk);
  },
  frame_over_the_limit: staying((id) => {
    write(`{"jsonrpc":"2.0","id":${id},"result":{"output":"${'x'.repeat(64 * MIB)}"}}\n`);
  }),
  byte_by_byte: (id) => {
    for (const byte of `{"jsonrpc":"2.0","id":${id},"result":{"output":"done"}}\r\n`) write(byte);
  },
  print_lines: (id) => {
    write('starting up\n');
    write('fertig: \u2713 \x1b[2J\n');
    write('{"level":"info","msg":"not a frame"}\n');
    answer(id);
  },
  glue_text_before: staying((id) => {
    write('progress 50%');
    answer(id);
  }),
  glue_text_after: staying((id) => write(`{"jsonrpc":"2.0","id":${id},"result":{"output":"done"}} done!\n`)),

  ask_wrong_number: staying((id, call) => ask('now', { call, ask: 5 })),
  ask_number_twice: staying((id, call) => {
    ask('now', { call, ask: 0 });
    ask('now', { call, ask: 0 });
  }),
  ask_for_the_last_call: (id, call) => {
    const first = ask('now', { call: call - 1, ask: 0 });
    const second = ask('respond', { call: call + 7, ask: 0, key: 'k' });
    answer(id, [first, second]);
  },
  ask_between_calls: (id, call) => {
    answer(id, 'answered');
    sendAsk('now', { call, ask: 0 });
  },
  settle_unasked: (id, call) => answer(id, ask('respond.settle', { call, ask: 0, value: 1 })),
  settle_twice: (id, call) => {
    const given = ask('respond', { call, ask: 0, key: 'k' });
    const settled = [0, 1].map(() => ask('respond.settle', { call, ask: 0, value: 1 }));
    answer(id, [given, ...settled]);
  },
  unknown_method: (id, call) => {
    send({ method: 'whatever', params: { call } });
    answer(id, ask('whatever', { call }));
  },
  wrong_params: (id, call) => {
    const replies = [
      ask('now', { call, ask: 0, clock: 'sundial' }),
      ask('random', { call, ask: 1, draw: 'int', low: 2, high: 1 }),
      ask('respond', { call, ask: 2 }),
      ask('now', { call: '0', ask: 3 }),
    ];
    answer(id, replies);
  },
  swallow: (id, call) => {
    ask('respond', { call, ask: 0, key: 'never recorded' });
    ask('now', { call, ask: 1 });
    answer(id);
  },

  echo: (id, call, event) => answer(id, event),
  big_both_ways: (id, call) => {
    sendAsk('respond', { call, ask: 0, key: 'big', args: ['a'.repeat(8 * MIB)] });
    shout();
    let given = reply();
    if ('produce' in given) {
      given = { value: 'v'.repeat(8 * MIB) };
      sendAsk('respond.settle', { call, ask: 0, ...given });
      shout();
      reply();
    } else {
      shout();
    }
    answer(id, given.value);
    // The next event is a large frame too: it comes while this is being written, and not read.
    shout();
  },
  flood_stderr: (id) => {
    for (let i = 0; i < 16; i++) write(`${'e'.repeat(79)}\n`.repeat(MIB / 80), 2);
    answer(id);
  },

  grandchild: (id) => {
    shell('sleep 600 &');
    answer(id);
  },
  grandchild_and_exit: () => {
    shell('sleep 600 &');
    leave(0);
  },
  grandchild_ignores_sigterm: (id) => {
    shell("trap '' TERM INT HUP; sleep 600 &");
    answer(id);
  },
  grandchild_ignores_sigterm_and_exit: () => {
    shell("trap '' TERM INT HUP; sleep 600 &");
    leave(0);
  },
  grandchild_left_the_group: (id) => {
    spawn('sleep', ['600'], { stdio: 'inherit', detached: true });
    answer(id);
  },
  grandchild_left_the_group_and_exit: () => {
    spawn('sleep', ['600'], { stdio: 'inherit', detached: true });
    leave(0);
  },

  ignore_shutdown: (id) => {
    ignore('SIGTERM');
    answer(id);
    return stayTurning();
  },
  fail_at_shutdown: (id) => {
    answer(id);
    frame();
    leave(7);
  },
  answer_shutdown_with_an_error: (id) => {
    answer(id);
    send({ id: frame().id, error: { code: -32603, message: 'not now' } });
    frame();
  },
};

function initialize(id, start) {
  if (start === 'slow') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  if (start === 'wrong_version') {
    const error = { code: -32001, message: 'no common protocol version', data: { supported: [99] } };
    return send({ id, error });
  }
  const result = {
    protocol: start === 'chosen_version' ? 7 : 1,
    handler: { name: 'misbehaving', version: '1', language: 'node', runtime: process.version },
    functions: start === 'no_functions' ? [] : ['handler'],
    capabilities: {},
    constants: {},
  };
  return send({ id, result });
}

function main(start = '') {
  if (start === 'die') {
    write('no such module: charge\n', 2);
    leave(3);
  }
  if (start === 'silent') stay();
  if (start === 'garbage') write(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{\xff}}\n', 'latin1'));
  if (start === 'early') sendAsk('now', { call: 0, ask: 0 });
  for (;;) {
    const { id, method, params } = frame();
    if (method === 'initialize') initialize(id, start);
    // What it does may be to live on in the event loop, and to read nothing any more.
    else if (method === 'handle' && DO[params.event.do](id, params.call, params.event) !== undefined) return;
    else if (method === 'shutdown') send({ id, result: {} });
  }
}

main(process.argv[2]);
