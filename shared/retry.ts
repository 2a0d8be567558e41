import { type Clock, systemClock } from '#shared/clock.ts';

/** A number in [0, 1), as `Math.random`. */
export type Random = () => number;

export function uniform(random: Random, low: number, high: number): number {
  return low + random() * (high - low);
}

export interface BackOff {
  /** Milliseconds after the first failure, doubled with each further one. */
  readonly firstMs: number;
  readonly mostMs?: number;
  readonly leastMs?: number;
  /** Multiplied by a random number between these two, so that those who failed together don't come back together. */
  readonly spread?: readonly [low: number, high: number];
  readonly random?: Random;
}

/** Returns the milliseconds to wait after the `failures`th failure in a row, from 1. */
export function backOffMs(
  { firstMs, mostMs = Number.POSITIVE_INFINITY, leastMs = 0, spread = [1, 1], random = Math.random }: BackOff,
  failures: number,
): number {
  return Math.max(leastMs, Math.min(mostMs, firstMs * 2 ** (failures - 1)) * uniform(random, ...spread));
}

export interface RetryOptions {
  readonly clock?: Clock;
  /** Ends the waiting too. */
  readonly signal?: AbortSignal | undefined;
  /** How often it is tried in all; without it, until it succeeds. */
  readonly attempts?: number;
  /** No try begins later than so many milliseconds after the first one. */
  readonly withinMs?: number;
  /** Whether a failure may pass; without it each may. */
  readonly passes?: (error: unknown, attempt: number) => boolean;
  /** Milliseconds to wait after the `attempt`th try, from 1. */
  readonly delayMs: (attempt: number, error: unknown) => number;
  /** Called before each wait. */
  readonly onRetry?: (error: unknown, attempt: number, waitMs: number) => void;
}

/**
 * Tries until it succeeds.
 * @param work gets the number of the try, from 1
 * @throws what the last try threw; the signal's reason when it has aborted, whatever a try threw then
 */
export async function retry<Result>(
  work: (attempt: number) => Promise<Result>,
  {
    clock = systemClock,
    signal,
    attempts,
    withinMs = Number.POSITIVE_INFINITY,
    passes,
    delayMs,
    onRetry,
  }: RetryOptions,
): Promise<Result> {
  const until = clock.now().getTime() + withinMs;
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      return await work(attempt);
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt === attempts || passes?.(error, attempt) === false) throw error;
      const waitMs = delayMs(attempt, error);
      if (clock.now().getTime() + waitMs > until) throw error;
      onRetry?.(error, attempt, waitMs);
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    }
  }
}
