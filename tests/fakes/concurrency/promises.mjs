// Handlers that do several things at once, with promises. aio.py and threads.py do the same.
//
// On record the producers take random times. On replay JITTER is set: then the handler itself takes its time before it
// asks, otherwise on every run, and what it returns is the same all the same.
const JITTER = process.env.JITTER !== undefined;
const ITEMS = ['a', 'b', 'c', 'd', 'e'];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const produce = async (value) => {
  await sleep(Math.random() * 6);
  return value;
};

const dawdle = async () => {
  if (JITTER) await sleep(Math.random() * 3);
};

const asked = async (ctx, key, item) => {
  await dawdle();
  return ctx.respond(key, () => produce(`${key}:${item}`), { args: [item] });
};

let kept = [];

export const functions = {
  async fan_out(event, ctx) {
    const started = ctx.now();
    const answers = await Promise.all(ITEMS.map((item) => asked(ctx, 'fetch', item)));
    return { answers, started, ended: ctx.now(), draw: ctx.random() };
  },

  // The first wins; the losers are awaited later, and counted in the order in which they come.
  async race(event, ctx) {
    const racers = new Map(ITEMS.map((item) => [item, asked(ctx, 'race', item).then((answer) => ({ item, answer }))]));
    const order = [];
    while (racers.size > 0) {
      const first = await Promise.race(racers.values());
      racers.delete(first.item);
      order.push([first.answer, ctx.now()]);
    }
    return order;
  },

  // The first wins; the others are still open when the call ends.
  async race_with_a_late_loser(event, ctx) {
    const winner = await Promise.any(ITEMS.map((item) => asked(ctx, 'race', item)));
    return [winner, ctx.random()];
  },

  // `b` of an item is asked as soon as its `a` has come.
  async two_stages(event, ctx) {
    const order = [];
    const itemOf = async (item) => {
      const a = await asked(ctx, 'a', item);
      order.push(a);
      const at = ctx.now();
      const b = await asked(ctx, 'b', item);
      order.push(b);
      return [a, at, b, ctx.random()];
    };
    return [await Promise.all(ITEMS.map(itemOf)), order];
  },

  async completion_order(event, ctx) {
    const order = [];
    await Promise.all(ITEMS.map(async (item) => order.push(await asked(ctx, 'fetch', item))));
    return order;
  },

  // Two are awaited, three are left behind.
  async left_open(event, ctx) {
    const left = ITEMS.slice(0, 3).map((item) => ctx.respond('slow', () => sleep(600_000), { args: [item] }));
    const answers = await Promise.all(ITEMS.slice(3).map((item) => asked(ctx, 'fetch', item)));
    return [answers, left.length, ctx.now()];
  },

  // The context of a call that is over goes on asking, among the questions of the next.
  async ask_after_end(event, ctx) {
    const outlive = async (old) => {
      const late = [];
      await dawdle();
      for (const ask of [old.now, old.random, () => old.respond('late', () => 1)]) {
        try {
          late.push(await ask());
        } catch (error) {
          late.push(error.name);
        }
      }
      return late;
    };
    const late = kept.map(outlive);
    kept = [ctx];
    const answers = await Promise.all(ITEMS.map((item) => asked(ctx, 'fetch', item)));
    return [await Promise.all(late), answers, ctx.now()];
  },
};
