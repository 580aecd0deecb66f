// An event as a service would handle one: the time, a draw, an answer of some 300 bytes from outside.
import { account } from './account.mjs';

export default async (event, ctx) => {
  const at = ctx.now();
  const sampled = ctx.random() < 0.2;
  const found = await ctx.respond('account', () => account(event.n));
  return { at, sampled, ok: found.balance.amount >= event.amount };
};
