// What the types of the test helper let through, and what they do not.
import { verify, type Test } from 'playhead-client/testing';

declare const t: Test;
export const file: Promise<void> = verify(t, 'test/recordings', 'handler.mjs');
export const command = verify(t, new URL('file:///recordings'), 'node', 'handler.mjs');
// @ts-expect-error: no handler
verify(t, 'test/recordings');
