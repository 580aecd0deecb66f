// The toy application that recorders of tape v1 are tested with, as handlers of ours. toys.py is the same.

const CHANGE = process.env.TOY_CHANGE ?? '';

export const constants = { 'toy.LIMIT': CHANGE === 'other constant' ? 4 : 3 };

class ToyError extends Error {
  name = 'ToyError';
}

export const revivers = { ToyError: (error) => new ToyError(error.message) };

// There is no world to ask: the tape has every answer.
const live = () => {
  throw new Error('asked live');
};

// A marked time, to the microsecond.
const timeOf = (ms) => {
  const us = Math.round(ms * 1000);
  const text = new Date(Math.floor(us / 1000)).toISOString().slice(0, -1);
  return { __dt__: `${text}${String(us % 1000).padStart(3, '0')}Z` };
};

async function greet(event, ctx) {
  const user = CHANGE === 'other user' ? event.user.toUpperCase() : event.user;
  const known = await ctx.respond('store.get', live, { args: [user] });
  await ctx.respond('db.stream', live, { args: ['collection("users").where("x", ">", 0)'] });
  ctx.sample(CHANGE === 'other sample' ? 4 : 3, 2);
  ctx.randbytes(4);
  ctx.random();
  if (CHANGE === 'other bounds') ctx.randint(100, 200);
  else ctx.randint(0, 99);
  let now = CHANGE === 'no clock' ? 0 : ctx.now();
  ctx.monotonic();
  if (CHANGE === 'a microsecond later') now += 0.001;
  const written =
    process.env.TOY_WRITES === 'document' ? `collection("users").document("${user}")` : `store.set(greeted:${user})`;
  await ctx.respond('db.set', live, { args: [written, { at: timeOf(now) }] });
  return { name: CHANGE === 'other name' ? 'Bob' : known.name };
}

async function explode(event, ctx) {
  try {
    return await ctx.respond('store.get', live, { args: [event.user] });
  } catch (error) {
    if (CHANGE === 'other error') throw new TypeError(error.message);
    if (CHANGE === 'no error') return null;
    throw error;
  }
}

async function signup(event, ctx) {
  const { email, password } = event;
  const made = await ctx.respond('store.create_account', live, { args: [email, { password }] });
  return { email: made.email, password: made.password };
}

async function enrol(event, ctx) {
  const { user, password } = event;
  const now = ctx.now();
  return ctx.span('enrol', { user, started: timeOf(now), password }, async () => {
    let found = await ctx.span('load_corpus', () =>
      ctx.respond('db.get', live, { args: [`collection("users").document("${user}")`] }),
    );
    if (Array.isArray(found)) [found] = found;
    ctx.note('corpus_read', { found: found.exists });
    try {
      await ctx.span('register', { password }, async () => {
        await ctx.respond('store.set', live, { args: [`user:${user}`, { password }] });
        await ctx.respond('store.boom', live, { args: [user] });
      });
    } catch (error) {
      ctx.note('registration_failed', { why: error.message });
    }
    return { user, name: found.data.name };
  });
}

export const functions = { greet, explode, signup, enrol };
