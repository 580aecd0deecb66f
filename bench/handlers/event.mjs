// An event as a service would handle one: the time, a draw, an answer of some 300 bytes from outside.
const account = (number) => ({
  account: `acct_${String(number).padStart(8, '0')}`,
  owner: { name: 'Ada Example', mail: `ada+${number}@example.com`, since: 1546300800000 },
  balance: { amount: 100000 + number, currency: 'EUR', pending: [250, 1999, 12050] },
  limits: { daily: 500000, single: 100000 },
  flags: ['verified', 'two-factor', 'europe'],
  note: 'opened in person, papers seen',
});

export default async (event, ctx) => {
  const at = ctx.now();
  const sampled = ctx.random() < 0.2;
  const found = await ctx.respond('account', () => account(event.n));
  return { at, sampled, ok: found.balance.amount >= event.amount };
};
