import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Milliseconds before a BMC is asked again what it shows, doubled each time; after the last it has not done it. */
const firstLookMs = 250;
const lastLookMs = 4000;

interface Proof {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether the BMC shows it wholly: then a task that it has forgotten is no error. */
  readonly isLookedAt?: boolean;
  /** Reads what came of it; answers how that differs from what was asked for, or why nothing shows it. */
  readonly differs: () => Promise<string | undefined>;
}

/**
 * Follows an accepted request to its end. Where its end isn't seen, as some BMCs answer 202 without a monitor, what they show
 * is the proof.
 * @throws AppError `bmc_error` when the task failed, or when nothing shows that it was done
 */
export async function finishShown(
  client: RedfishClient,
  answer: RedfishAnswer,
  what: string,
  { clock, signal, isLookedAt = false, differs }: Proof,
): Promise<void> {
  if (await finishTask(client, answer, what, { clock, signal, isLookedAt })) return;
  for (let waitMs = firstLookMs; ; waitMs *= 2) {
    const difference = await differs();
    if (difference === undefined) return;
    if (waitMs > lastLookMs) {
      const why = `the BMC has accepted it and tells no end, and nothing shows that it was done: ${difference}`;
      throw new AppError('bmc_error', `${what}: ${why}`);
    }
    await clock.sleep(waitMs, signal).catch(() => {
      throw stoppedError(signal, what);
    });
  }
}
