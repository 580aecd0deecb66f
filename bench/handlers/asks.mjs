// Asks as often as the event says, of the kind that it says.
const balance = () => 700;

const KINDS = {
  now: async (n, ctx) => { for (let i = 0; i < n; i++) ctx.now(); },
  random: async (n, ctx) => { for (let i = 0; i < n; i++) ctx.random(); },
  respond: async (n, ctx) => { for (let i = 0; i < n; i++) await ctx.respond('account.balance', balance); },
  mixed: async (n, ctx) => {
    for (let i = 0; i < Math.floor(n / 3); i++) {
      ctx.now();
      ctx.random();
      await ctx.respond('account.balance', balance);
    }
  },
};

export default async (event, ctx) => {
  await KINDS[event.kind](event.n, ctx);
  return event.n;
};
