// The machine's own clock and chance, taken before anyone puts something else in their place.
import crypto from 'node:crypto';

const { randomBytes, randomInt } = crypto;

export const liveNow = Date.now;
export const liveMonotonic = performance.now.bind(performance);
export const liveRandom = Math.random;
export const liveBytes = randomBytes;

const WIDEST = 2 ** 48 - 1; // of crypto.randomInt

export function liveInt(low, high) {
  if (high - low < WIDEST) return low === high ? low : randomInt(low, high + 1);
  const span = BigInt(high) - BigInt(low) + 1n;
  return Number(BigInt(low) + (randomBytes(16).readBigUInt64LE() % span));
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
