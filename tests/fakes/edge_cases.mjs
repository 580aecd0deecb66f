// edge_cases.py in another language: the handler that made edge-cases.golden.json, read off its outputs.
export default async (event, ctx) => {
  const at = ctx.now();
  const p = ctx.random();
  const a = await ctx.respond('io.a', () => ({ b: 1 / 3, '\u{1f642}': 0, '\ufb00': 1e-7 }));
  const b = await ctx.respond('io.\u00e9 \n', () => [null, '', 0.1 + 0.2, 5e-324, Number.MAX_VALUE]);
  return {
    10: 'ten',
    9: 'nine',
    '': '',
    __proto__x: true,
    zeta: event,
    at,
    p,
    a,
    b,
    '\u{1f600}': 1e2,
    '\ue000': 1e16,
  };
};
