// variants.py in another language: the handler of incident-4211, changed as the environment's VARIANT says.
const VARIANT = process.env.VARIANT;

const SHAPES = {
  key_order: (output) => Object.fromEntries(Object.entries(output).reverse()),
  // JavaScript has one form of number: this is 700, and the test is that it makes no difference.
  float_form: (output) => ({ ...output, balance: Number(output.balance.toFixed(1)) }),
  extra_field: (output) => ({ ...output, version: 2 }),
  missing_field: ({ balance, ...output }) => output,
  null_output: () => null,
  uses_seq: (output, ctx) => ({ ...output, seq: ctx.seq }),
};

export default async (event, ctx) => {
  const receivedAt = VARIANT === 'live_clock' ? 0 : ctx.now();
  if (VARIANT === 'clock_twice') ctx.now();
  const sampled = VARIANT === 'no_random' ? false : ctx.random() < (VARIANT === 'sampling_0.3' ? 0.3 : 0.2);
  if (VARIANT === 'random_twice') ctx.random();
  const balance = await ctx.respond('account.balance', () => 1000 - event.amount);
  if (VARIANT === 'respond_twice') await ctx.respond('account.balance', () => 1000 - event.amount);
  if (VARIANT === 'new_key') await ctx.respond('account.limit', () => 5000);
  const approved = VARIANT === 'approval_gt_0' ? balance > 0 : balance >= 0;
  const output = { receivedAt, sampled, approved, balance };
  return (SHAPES[VARIANT] ?? ((same) => same))(output, ctx);
};
