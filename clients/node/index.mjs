// What a handler or a program that hosts handlers may import; everything else in this package is internal.
export { attach } from './src/attach.mjs';
export { serve } from './src/serve.mjs';
export { wrapClient as wrap } from './src/wrap.mjs';
export {
  CallEnded,
  Cancelled,
  DeterminismError,
  Forbidden,
  HandlerError,
  LimitExceeded,
  NotJSON,
  ProtocolError,
  RecordedError,
} from './src/errors.mjs';
