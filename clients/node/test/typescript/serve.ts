// What the types of a served program let through, and what they do not.
import { serve, type Handler } from 'playhead-client';

const create = (): Record<string, Handler> => {
  let calls = 0;
  return { count: () => ++calls };
};
serve(create(), { reset: create });
serve(() => 1, { reset: async (constants) => void constants.zone });
// @ts-expect-error: no handlers
serve(create(), { reset: () => 1 });
