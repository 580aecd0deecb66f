// Handler code of all sorts, on top of the client library: {"do": NAME, "n": N}. windowed.py does the same.
//
// What it is answered does not depend on when: two recordings from one seed are the same, those of `race` excepted.

const account = (n) => ({ balance: 100 * n, owner: 'Ada \u00fc \u{1f600}', limits: [n / 4, null, true] });

const someTime = async (value) => {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
  return value;
};

const DO = {
  async plain(event, ctx) {
    const { n } = event;
    return [ctx.now(), ctx.random(), await ctx.respond('account', () => account(n), { args: [n] }), ctx.now()];
  },

  // Integers, bytes and samples between floats.
  draws(event, ctx) {
    const first = [ctx.random(), ctx.randint(1, 6), ctx.random(), ctx.random(), ctx.randbytes(3).toString('hex')];
    return [...first, ctx.random(), ctx.sample([1, 2, 3, 4, 5], 2), ctx.uuid(), ctx.random()];
  },

  clocks(event, ctx) {
    const readings = Array.from({ length: 20 }, () => ctx.now());
    return [...readings, ctx.monotonic(), ctx.now(), ctx.monotonic()];
  },

  nothing() {},

  // A producer fails, and the handler copes.
  async fails(event, ctx) {
    const got = [];
    for (let round = 0; round < 2; round += 1) {
      try {
        got.push(
          await ctx.respond('quote', () => {
            throw new RangeError('no answer');
          }),
        );
      } catch (error) {
        got.push(error.message);
      }
      got.push(ctx.now());
    }
    return got;
  },

  async raises(event, ctx) {
    ctx.now();
    const found = await ctx.respond('account', () => account(1));
    throw new TypeError(`no ${event.n}: ${found.balance}`);
  },

  notes(event, ctx) {
    const at = ctx.now();
    ctx.note('retry', { attempt: 2 });
    const drawn = ctx.span('charge', () => {
      const found = ctx.random();
      ctx.observe('depth', 3);
      return found;
    });
    return [at, drawn];
  },

  // One question after the other.
  async awaits(event, ctx) {
    const got = [ctx.now()];
    for (const name of ['a', 'b', 'c']) {
      got.push(await ctx.respond('price', async () => name, { args: [name] }));
      got.push(ctx.random());
    }
    return got;
  },

  // Other arguments for one key, and the same ones again.
  async keys(event, ctx) {
    const got = [];
    for (const n of [1, 2, 1]) got.push(await ctx.respond('item', () => [n], { args: [n], kwargs: { deep: [n] } }));
    for (let n = 0; n < 3; n += 1) got.push(await ctx.respond('same', () => n, { args: ['x'] }));
    return got;
  },

  async twice(event, ctx) {
    const got = [];
    for (let n = 0; n < 4; n += 1) got.push(await ctx.respond('count', () => n));
    return got;
  },

  // What a producer asks itself is not asked.
  async swallows(event, ctx) {
    return [await ctx.respond('inner', () => String(ctx.now()).length), ctx.now()];
  },

  async gather(event, ctx) {
    const found = await Promise.all(
      [0, 1, 2, 3, 4].map((n) => ctx.respond('fetch', () => someTime(n), { args: [n] })),
    );
    return [found, ctx.now(), ctx.random()];
  },

  async race(event, ctx) {
    const ask = (n) => ctx.respond('race', () => someTime(n), { args: [n] }).then((answer) => ({ n, answer }));
    const racers = new Map([0, 1, 2, 3].map((n) => [n, ask(n)]));
    const order = [];
    while (racers.size > 0) {
      const first = await Promise.race(racers.values());
      racers.delete(first.n);
      order.push([first.answer, ctx.now(), ctx.random()]);
    }
    return order;
  },
};

export const handler = (event, ctx) => DO[event.do](event, ctx);
