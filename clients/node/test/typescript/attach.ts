// What the types of an attached recorder let through, and what they do not.
import { attach, wrap } from 'playhead-client';

class Store {
  async read(key: string): Promise<{ level: number }> {
    return { level: key.length };
  }
  size(): number {
    return 0;
  }
}

const recorder = attach({ out: 'flight', gate: { functions: ['stu*'], where: { '/user': 'u1' }, sample: 0.1 } });
const kv: Store = wrap(new Store(), ['read', 'size'], { prefix: 'kv', sync: ['size'] });
// @ts-expect-error: no such method
wrap(new Store(), ['reed']);

const study = recorder.wrap('study', async (event: { user: string }, ctx) => {
  const { level } = await kv.read(event.user);
  ctx.note('level', { level });
  return { level, at: ctx.now() };
});
const status: Promise<{ level: number; at: number }> = study({ user: 'u1' });
// @ts-expect-error: an event of another shape
study({ name: 'u1' });

const add: (a: number, b: number) => number = recorder.tool('add', (a: number, b: number) => a + b);
const found: number = recorder.withTraceparent(undefined, () => recorder.span('add', () => add(1, 2)));
// @ts-expect-error: no such durability
attach({ durability: 'never' });
export { found, status };
