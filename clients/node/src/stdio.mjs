// The two pipes to the daemon. Takes stdin and stdout for the protocol: afterwards descriptor 0 is empty and
// descriptor 1 is stderr, for this process, its workers and its children alike.
//
// Node has neither dup2 nor poll. /proc/self/fd/N (Linux) opens a pipe once more, as a description of its own, so that
// one can block in readSync while the event loop has another that does not; and open() takes the lowest free number,
// so closing 1 and opening stderr is as good as dup2. Where there is no such thing (macOS, sockets) a worker reads.
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const { O_APPEND, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;
// Before anyone can replace them.
const { closeSync, fstatSync, openSync, readSync, writeSync } = fs;

const CHUNK = 64 * 1024;

let taken = null;

/**
 * Takes stdin and stdout, once. `reader` is "worker", or what suits the pipe.
 * Gives {write(text), read(frames) -> false at the end (blocks), listen(frames, arrived, ended)}.
 */
export function takeStdio(reader = process.env.PLAYHEAD_CLIENT_READER) {
  taken ??= take(reader);
  return taken;
}

/** A line on stderr, whatever has become of the streams. */
export function report(text) {
  try {
    writeSync(2, `playhead-client: ${text}\n`);
  } catch {
    // Nobody reads it.
  }
}

function take(reader) {
  const out = takeStdout();
  printWhole('stdout');
  printWhole('stderr');
  const input = takeStdin(reader);
  return { write: writer(out), ...input };
}

function takeStdout() {
  const own = isPipe(1) ? reopen(1, O_WRONLY) : null;
  if (own !== null && replace(1, stderrPath(), O_WRONLY | O_APPEND)) return own;
  if (own !== null && replace(1, '/dev/null', O_WRONLY)) {
    redirectStdout();
    return own;
  }
  redirectStdout();
  return own ?? 1;
}

// Node writes to a pipe without blocking and drops at exit what the pipe did not hold. The daemon ends us with an
// exit at any moment and drains stderr, so these two block. Done when a stream is first used: most handlers print
// nothing.
function printWhole(name) {
  const before = Object.getOwnPropertyDescriptor(process, name);
  if (before?.get === undefined) return;
  let stream = null;
  const get = () => {
    if (stream === null) {
      stream = before.get.call(process);
      stream._handle?.setBlocking?.(true);
    }
    return stream;
  };
  Object.defineProperty(process, name, { ...before, get });
}

// A second description of a file has a second offset and would write over the first: only pipes and terminals are
// opened again.
const stderrPath = () => (fstatSync(2).isFile() ? null : fdPath(2));

function redirectStdout() {
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, get: () => process.stderr });
  syncBuiltinESMExports();
}

function takeStdin(reader) {
  const blocking = isPipe(0) ? reopen(0, O_RDONLY) : null;
  if (blocking === null || process.platform !== 'linux' || reader === 'worker') {
    const fd = blocking ?? 0;
    if (blocking === null || !replace(0, '/dev/null', O_RDONLY)) emptyStdin();
    return workerReader(fd);
  }
  const forLoop = reopen(0, O_RDONLY | O_NONBLOCK);
  if (!replace(0, '/dev/null', O_RDONLY)) emptyStdin();
  return pipeReader(blocking, forLoop);
}

function emptyStdin() {
  let empty = null;
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get: () => (empty ??= loaded('node:stream').Readable.from([])),
  });
  syncBuiltinESMExports();
}

// What few processes need is loaded when it is: a process should start fast.
const loaded = (name) => createRequire(import.meta.url)(name);

function isPipe(fd) {
  try {
    return fstatSync(fd).isFIFO();
  } catch {
    return false;
  }
}

const fdPath = (fd) => `${process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd'}/${fd}`;

function reopen(fd, flags) {
  try {
    return openSync(fdPath(fd), flags);
  } catch {
    return null; // no /proc, or a socket, which cannot be opened
  }
}

// True if descriptor `fd` is `path` afterwards.
function replace(fd, path, flags) {
  if (path === null) return false;
  let other;
  try {
    // Open it first: once fd is closed there is no way back.
    other = openSync(path, flags);
    closeSync(fd);
  } catch {
    return false;
  }
  const got = openSync(path, flags);
  closeSync(other);
  if (got === fd) return true;
  closeSync(got);
  return false;
}

function writer(fd) {
  const small = Buffer.allocUnsafeSlow(CHUNK);
  return (text) => {
    if (text.length * 3 <= CHUNK) writeAll(fd, small, small.write(text, 0));
    else writeAll(fd, Buffer.from(text), Buffer.byteLength(text));
  };
}

// The daemon drains our stdout at all times, also while it writes to us: to block here is safe.
function writeAll(fd, bytes, length) {
  let done = 0;
  while (done < length) {
    try {
      done += writeSync(fd, bytes, done, length - done, null);
    } catch (error) {
      if (error.code === 'EPIPE') process.exit(0); // the daemon is gone
      if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
      // A socket that someone made non-blocking. Node cannot wait for room in it.
      pause();
    }
  }
}

const never = new Int32Array(new SharedArrayBuffer(4));

const pause = () => Atomics.wait(never, 0, 0, 1);

function pipeReader(blocking, forLoop) {
  return {
    read(frames) {
      for (;;) {
        const room = frames.free();
        try {
          const count = readSync(blocking, frames.bytes, frames.end, room, null);
          frames.filled(count);
          return count !== 0;
        } catch (error) {
          if (error.code === 'EOF') return false;
          if (error.code !== 'EAGAIN' && error.code !== 'EINTR') throw error;
        }
      }
    },
    // Reads when the loop turns and at no other time, so it takes nothing from a read() in progress.
    listen(frames, arrived, ended) {
      const callback = (count, bytes) => {
        frames.push(bytes.subarray(0, count));
        arrived();
        return true;
      };
      // onread: without a stream's events this costs what a plain readSync costs.
      const options = {
        fd: forLoop,
        readable: true,
        writable: false,
        onread: { buffer: Buffer.allocUnsafeSlow(CHUNK), callback },
      };
      new net.Socket(options).on('end', ended).on('error', ended);
    },
  };
}

function workerReader(fd) {
  const { MessageChannel, Worker, receiveMessageOnPort } = loaded('node:worker_threads');
  const posted = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./reader_worker.mjs', import.meta.url), {
    workerData: { fd, posted, port: port2 },
    transferList: [port2],
    execArgv: [],
  });
  worker.unref();
  worker.on('error', (error) => {
    report(`the reader of stdin failed: ${error.message}`);
    process.exit(1);
  });
  return {
    read(frames) {
      for (;;) {
        const seen = Atomics.load(posted, 0);
        const received = receiveMessageOnPort(port1);
        if (received !== undefined) {
          if (received.message === null) return false;
          frames.push(received.message);
          return true;
        }
        Atomics.wait(posted, 0, seen);
      }
    },
    listen(frames, arrived, ended) {
      port1.on('message', (bytes) => {
        if (bytes === null) return ended();
        frames.push(bytes);
        arrived();
      });
    },
  };
}
