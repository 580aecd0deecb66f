// An application that lets a secret out wherever it can, recorded by an attached recorder.
import { attach } from '../../clients/node/index.mjs';

const SECRET = process.env.SECRET;

async function login(event, ctx) {
  const { token } = await ctx.respond('auth.login', () => ({ user: 42, token: SECRET }));
  await ctx.respond(`audit/${token}`, () => ({ [token]: true }), {
    args: [`logged in with ${token}`],
    kwargs: { by: token },
  });
  await ctx.respond('headers', () => [['Authorization', `Bearer ${token}`], { name: 'token', value: token }]);
  ctx.note('logged in', { header: `Bearer ${token}` });
  console.error(`stderr: ${token}`);
  if (event.raise) throw new RangeError(`${token} was refused`);
  return {
    greeting: `hello, ${token}`,
    [token]: 'as a key',
    query: `a=1&token=${encodeURIComponent(token)}`,
    basic: Buffer.from(token).toString('base64'),
    said: `{"token": "${token}"}`,
  };
}

const [, , out, policy, python] = process.argv;
const recorder = attach({ out, policy, daemon: [python, '-m', 'playhead', 'serve'] });
const recorded = recorder.wrap('login', login);
const { greeting } = await recorded({ try: 1 });
if (greeting !== `hello, ${SECRET}`) throw new Error('the application has its live values');
await recorded({ try: 2, raise: true }).then(
  () => process.exit(1),
  () => {},
);
await recorded({ try: 3, password: SECRET });
await recorder.close();
