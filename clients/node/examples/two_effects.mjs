// Two questions to the outside, one after the other: what is the price, and is there enough?
export default async (event, ctx) => {
  const at = ctx.now();
  const price = await ctx.respond('quote', () => 990, { args: [event.sku] });
  const stock = await ctx.respond('stock', () => 7, { args: [event.sku] });
  return { at, price, stock, ok: stock >= event.amount };
};
