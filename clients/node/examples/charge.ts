import type { Context } from "playhead-client";

interface Charge {
  amount: number;
}

export default async (event: Charge, ctx: Context) => {
  const receivedAt = ctx.now();
  const sampled = ctx.random() < 0.2;
  const balance = await ctx.respond("account.balance", () => 1000 - event.amount);
  return { receivedAt, sampled, approved: balance >= 0, balance };
};
