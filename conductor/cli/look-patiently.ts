import type { Clock } from '#shared/clock.ts';
import { isRetryable } from '#shared/errors/app-error.ts';

/** Between two looks at what is under way. */
export const pollMs = 500;
/** A conductor that is restarted is back by then, and what it did goes on. */
const patienceMs = 60_000;

/** Looks again and again while the conductor is away. @throws what the last look threw, after a minute */
export function lookPatiently<Seen>(look: () => Promise<Seen>, clock: Clock): Promise<Seen> {
  return tryPatiently(look, { clock, passes: isRetryable, forMs: patienceMs, everyMs: pollMs });
}

/** Tries again and again what fails with something that passes. @throws what the last try threw */
export async function tryPatiently<Result>(
  work: () => Promise<Result>,
  {
    clock,
    passes,
    forMs,
    everyMs,
  }: {
    readonly clock: Clock;
    /** Asked of each failure. */
    readonly passes: (error: unknown) => boolean;
    readonly forMs: number;
    readonly everyMs: number;
  },
): Promise<Result> {
  const until = clock.now().getTime() + forMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!passes(error) || clock.now().getTime() > until) throw error;
      await clock.sleep(everyMs);
    }
  }
}
