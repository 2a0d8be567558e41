import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface WaitOptions {
  /** For what would never come; by default four minutes, which end before a unit test's five. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds between two looks; default 200. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Looks again and again until `look` answers something other than `undefined`, and returns that. A look that throws
 * counts as "not yet"; its last error is the cause of the timeout.
 * @throws AppError `timeout` that says what was waited for.
 */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  { timeoutMs = 240_000, everyMs = 200, signal }: WaitOptions = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const found = await look();
      if (found !== undefined) return found;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      throw new AppError('timeout', `waited ${Math.round(timeoutMs / 1000)} s for ${what}`, { cause });
    }
    await systemClock.sleep(everyMs, signal);
  }
}
