// Handler code that misbehaves, on top of the client library: {"do": NAME, ...}. handler.py does the same.
import { execSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';

const MIB = 1 << 20;

const shell = (line) => spawnSync('/bin/sh', ['-c', line], { stdio: 'inherit' });

const never = () => new Promise(() => {});

const writeAll = (fd, text) => {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; ) done += fs.writeSync(fd, bytes, done);
};

const grandchild = () => {
  shell("trap '' TERM INT HUP; sleep 600 &");
  return 'done';
};

const DO = {
  nothing: () => 'done',
  print_everywhere: () => {
    console.log('console.log');
    console.info('console.info');
    process.stdout.write('process.stdout\n');
    fs.writeSync(1, 'descriptor 1\n');
    spawnSync('echo', ['a child'], { stdio: 'inherit' });
    execSync('echo a shell', { stdio: 'inherit' });
    return 'done';
  },
  print_a_frame: () => {
    fs.writeSync(1, '{"jsonrpc":"2.0","id":2,"result":{"output":"forged"}}\n');
    return 'done';
  },
  read_stdin: async () => {
    const direct = fs.readFileSync(0, 'utf8');
    let streamed = '';
    for await (const chunk of process.stdin) streamed += chunk;
    const child = spawnSync('cat', { stdio: ['inherit', 'pipe', 'inherit'] });
    return [streamed, direct, child.stdout.toString()];
  },

  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  hang_async: never,
  spin: () => {
    for (;;);
  },
  ignore_sigterm: () => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
    return never();
  },

  exit_0: () => {
    console.log('giving up');
    process.exit(0);
  },
  exit_at_once: () => process.reallyExit(0),
  exit_in_a_coroutine: async () => {
    await null;
    process.exit(0);
  },
  die_by_sigkill: () => {
    process.kill(process.pid, 'SIGKILL');
    return never();
  },
  reject_unhandled: async () => {
    Promise.reject(new Error('nobody awaits this'));
    await never();
  },
  throw_in_a_timer: async () => {
    setTimeout(() => {
      throw new Error('nobody catches this');
    });
    await never();
  },

  flood_stderr: () => {
    for (let i = 0; i < 16; i++) writeAll(2, `${'e'.repeat(79)}\n`.repeat(MIB / 80));
    return 'done';
  },
  grandchild,
  grandchild_and_exit: () => {
    grandchild();
    process.exit(0);
  },
  fork: () => {
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 60000)'], { stdio: 'inherit' });
    return 'done';
  },
  leave_a_thread: () => {
    setInterval(() => {}, 60_000);
    return 'done';
  },

  swallow: async (event, ctx) => {
    for (let i = 0; i < 3; i++) {
      try {
        await ctx.respond('never recorded', () => 1);
      } catch {}
      try {
        ctx.now();
      } catch {}
    }
    return 'done';
  },
  swallow_async: async (event, ctx) => {
    await Promise.allSettled([1, 2, 3].map(() => ctx.respond('never recorded', () => 1)));
    return 'done';
  },

  return_nan: () => ({ a: [1, NaN] }),
  return_infinity: () => ({ a: [1, -Infinity] }),
  return_function: () => ({ a: [1, () => {}] }),
  return_bytes: () => ({ a: [1, 10n] }),
  return_cycle: () => {
    const value = [1];
    value.push(value);
    return { a: value };
  },
  return_other_keys: () => ({ a: [1, undefined] }),
  pass_nan: (event, ctx) => ctx.respond('k', () => 1, { args: [{ a: [1, NaN] }] }),
  raise_without_text: () => {
    const error = new Error('x');
    error.name = 'Nameless';
    Object.defineProperty(error, 'message', {
      get() {
        throw new Error('no text');
      },
    });
    throw error;
  },
  raise_null: () => {
    throw null;
  },
  recurse: (event, ctx) => DO.recurse(event, ctx) + 1,
  wait_for_an_answer: (event, ctx) => ctx.respond('k', () => 1),
  wait_for_an_answer_async: async (event, ctx) => await ctx.respond('k', () => 1),
};

export default (event, ctx) => DO[event.do](event, ctx);
