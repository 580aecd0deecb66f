// The machine's own clock and chance, taken before anyone puts something else in their place: at once where that costs
// nothing, the rest by takeLive().
import { createRequire } from 'node:module';

export const liveNow = Date.now;
export const liveRandom = Math.random;

let taken = null;

/**
 * Takes what takes time to load. For whoever is about to put something in its place; a process that only replays needs
 * none of it, and starts sooner.
 */
export function takeLive() {
  if (taken !== null) return taken;
  const { randomBytes, randomInt } = createRequire(import.meta.url)('node:crypto');
  return (taken = { monotonic: performance.now.bind(performance), randomBytes, randomInt });
}

export const liveMonotonic = () => takeLive().monotonic();
export const liveBytes = (size) => takeLive().randomBytes(size);

const WIDEST = 2 ** 48 - 1; // of crypto.randomInt

export function liveInt(low, high) {
  if (high - low < WIDEST) return low === high ? low : takeLive().randomInt(low, high + 1);
  const span = BigInt(high) - BigInt(low) + 1n;
  return Number(BigInt(low) + (liveBytes(16).readBigUInt64LE() % span));
}

export function livePositions(n, k) {
  const drawn = new Set();
  // Floyd's: k draws whatever n is.
  for (let top = n - k; top < n; top++) {
    const at = liveInt(0, top);
    drawn.add(drawn.has(at) ? top : at);
  }
  const positions = [...drawn];
  for (let i = k - 1; i > 0; i--) {
    const j = liveInt(0, i);
    [positions[i], positions[j]] = [positions[j], positions[i]];
  }
  return positions;
}
