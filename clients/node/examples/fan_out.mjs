// Several questions in flight at once, a second stage as soon as one is answered, and a race. The order in which the
// answers come decides the output, and it is on the tape.
const later = (value, ms) => new Promise((resolve) => setTimeout(resolve, ms, value));

export default async (event, ctx) => {
  const order = [];
  const quote = async (shop) => {
    const price = await ctx.respond('quote', () => later(event.shops[shop].price, event.shops[shop].ms), {
      args: [shop],
    });
    order.push(shop);
    return {
      shop,
      at: ctx.now(),
      shipping: await ctx.respond('shipping', () => later(price / 10, 1), { args: [shop] }),
    };
  };
  const offers = Object.keys(event.shops).map(quote);
  const first = await Promise.race(offers);
  const all = await Promise.all(offers);
  return { first: first.shop, order, shipping: all.map((offer) => offer.shipping), done: ctx.now() };
};
