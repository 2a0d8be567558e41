import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';

/** BMCs write for minutes, and are away for as long when it is their own. */
export const updateMs = 60 * 60_000;

const pollMs = 5_000;

/**
 * Waits for what began at `since` (milliseconds since the epoch, `null` = now): its own time rules, whatever the BMC answers
 * meanwhile, and whatever was waited for before it.
 */
export function waitingFor(
  { clock }: StepContext,
  since: number | null,
  reason: string,
  checkEveryMs = pollMs,
): ConductorStepOutcome {
  const nowMs = clock.now().getTime();
  const timeoutMs = Math.max(0, (since ?? nowMs) + updateMs - nowMs);
  return { kind: 'wait', reason, code: 'bmc_task', timeoutMs, checkEveryMs, hasOwnLimit: true };
}
