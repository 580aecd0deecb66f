// Runs handlers for a playhead daemon on the other end of stdin and stdout, until its input ends.
import { CallEnded, Cancelled } from './errors.mjs';
import { FrameBuffer } from './framing.mjs';
import { Peer } from './peer.mjs';
import { surroundings } from './running.mjs';
import { report, takeStdio } from './stdio.mjs';

export const VERSION = '0.1.0';

/**
 * `handler`: one function, called "handler", or an object of functions by name. Returns at once; the process exits
 * with 0 when the daemon closes the pipe. `reset(constants)`, where there is one, makes the handlers as good as new,
 * and may give others to serve from then on. Throws TypeError when there is nothing to serve.
 */
export function serve(
  handler,
  { name = 'handler', version = VERSION, constants = {}, revivers = {}, reset, reader } = {},
) {
  const functions = functionsOf(handler);
  if (reset !== undefined && typeof reset !== 'function') throw new TypeError('serve(): reset is not a function');
  surroundings.hosted = true;
  const stdio = takeStdio(reader);
  const frames = new FrameBuffer();
  const end = () => process.exit(0);
  const wire = {
    send: stdio.write,
    next: () => nextFrame(frames, unreadable),
    soon: setImmediate,
    tick: process.nextTick,
    receive() {
      for (;;) {
        const text = nextFrame(frames, unreadable);
        if (text !== null) return text;
        if (!stdio.read(frames)) end();
      }
    },
    giveUp(why) {
      report(why);
      process.exit(1);
    },
  };
  const unreadable = (why) => peer.giveUp(why);
  const renewed = async (given) => {
    try {
      return functionsOf((await reset(given)) ?? handler);
    } catch (error) {
      report(`reset: ${error}`);
      throw error;
    }
  };
  const identity = { name, version, language: 'node', runtime: `Node ${process.version}` };
  const peer = new Peer(wire, functions, {
    identity,
    constants,
    revivers,
    reset: reset === undefined ? null : renewed,
  });
  process.on('unhandledRejection', unhandled);
  // Whatever ends this process, what its calls have said is said.
  process.on('exit', () => peer.flush());
  stdio.listen(frames, () => peer.arrived(), end);
}

function functionsOf(handler) {
  const named = typeof handler === 'function' ? { handler } : handler;
  if (named === null || typeof named !== 'object')
    throw new TypeError('serve() takes a function, or an object of functions by name');
  const functions = new Map(Object.entries(named));
  if (functions.size === 0) throw new TypeError('serve() was given no function');
  for (const [name, run] of functions) {
    if (typeof run !== 'function') throw new TypeError(`serve(): ${name} is not a function`);
  }
  return functions;
}

function nextFrame(frames, unreadable) {
  for (;;) {
    let text;
    try {
      text = frames.next();
    } catch (error) {
      unreadable(error.message);
    }
    if (text !== '' && text !== '\r') return text;
  }
}

// Work that outlives its call asks in vain: worth a line, not the process. Everything else keeps Node's default, a
// crash.
function unhandled(reason) {
  if (reason instanceof CallEnded || reason instanceof Cancelled)
    return report(`not awaited by anyone: ${reason.name}: ${reason.message}`);
  if (process.listenerCount('unhandledRejection') > 1) return undefined;
  throw reason;
}
