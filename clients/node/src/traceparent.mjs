// The W3C trace context that surrounds a call: what withTraceparent() said, the option, the active span of
// OpenTelemetry where its API is loaded, or the variable TRACEPARENT of a process that was started within a trace.
import { surroundings } from './running.mjs';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$/;
const LONGEST = 512;

/** `given` if it is a traceparent, else null: it may have come from anybody's header. */
export function validTraceparent(given) {
  return typeof given === 'string' && given.length <= LONGEST && TRACEPARENT.test(given) ? given : null;
}

export const traceIdOf = (traceparent) => (traceparent === null ? null : traceparent.slice(3, 35));

// Once: reading the environment costs as much as a recorded effect.
const started = validTraceparent(process.env.TRACEPARENT);

const OPENTELEMETRY = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** `option`: a traceparent, a function that gives the one of (fn, event), or undefined. Never throws. */
export function traceparentHere(option, fn, event) {
  try {
    const store = surroundings.storage?.getStore();
    const said = validTraceparent(store?.traceparent);
    if (said !== null) return said;
    const given = validTraceparent(typeof option === 'function' ? option(fn, event) : option);
    return given ?? activeSpan() ?? started;
  } catch {
    return null;
  }
}

function activeSpan() {
  const span = globalThis[OPENTELEMETRY]?.context?.active?.().getValue?.(SPAN)?.spanContext?.();
  if (span === undefined || span === null) return null;
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  return validTraceparent(`00-${span.traceId}-${span.spanId}-${flags}`);
}
