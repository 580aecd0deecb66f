// What the web service does, recorded there by an attached recorder and replayed here by the daemon.
import { setTimeout as sleep } from 'node:timers/promises';

async function balanceOf(user) {
  await sleep(Math.random() * 2);
  return { user, balance: 100 + user.length, held: [1, 2.5, null] };
}

async function rateOf(currency) {
  await sleep(Math.random() * 2);
  if (currency === 'XXX') throw new RangeError(`no rate for ${currency}`);
  return { currency, rate: 1.25 };
}

async function charge(event, ctx) {
  const at = ctx.now();
  return ctx.span('charge', { user: event.user }, async () => {
    const [account, rate] = await Promise.all([
      ctx.respond('balance', () => balanceOf(event.user), { args: [event.user] }),
      ctx.respond('rate', () => rateOf(event.currency), { args: [event.currency] }),
    ]);
    const drawn = ctx.random();
    ctx.note('decided', { sampled: drawn < 0.5 });
    return { at, left: account.balance - event.amount * rate.rate, drawn, id: ctx.uuid() };
  });
}

async function quote(event, ctx) {
  const stock = () => Math.floor(Math.random() * 1000);
  const first = await ctx.respond('stock', stock, { args: [event.item] });
  const second = await ctx.respond('stock', stock, { args: [event.item] });
  return { item: event.item, stock: [first, second], at: ctx.now() };
}

export const functions = { charge, quote };
