import type { Clock } from '#shared/clock.ts';
import { isRetryable } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

/** Between two looks at what is under way. */
export const pollMs = 500;
/** A conductor that is restarted is back by then, and what it did goes on. */
const patienceMs = 60_000;

/** Looks again and again while the conductor is away. @throws what the last look threw, after a minute */
export function lookPatiently<Seen>(look: () => Promise<Seen>, clock: Clock): Promise<Seen> {
  return retry(look, { clock, passes: isRetryable, withinMs: patienceMs + pollMs, delayMs: () => pollMs });
}
