/** A number in [0, 1), as `Math.random`. */
export type Random = () => number;

export function uniform(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

/**
 * Milliseconds to wait after the `attempt`th failure (from 1): random up to 2, 4, 8… s, never below `lowMs` nor above
 * `highMs`. Random so that a rack that was powered on together doesn't call together.
 */
export function randomExponentialMs(random: Random, attempt: number, lowMs: number, highMs: number): number {
  const ceiling = Math.min(highMs, 1000 * 2 ** Math.min(attempt, 20));
  return Math.max(lowMs, uniform(random, 0, ceiling));
}
