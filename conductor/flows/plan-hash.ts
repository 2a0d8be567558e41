import { createHash } from 'node:crypto';
import type { PlannedStep } from '#conductor/flows/planned-step.ts';

/**
 * What a plan comes to, in 64 hex digits: the steps with their arguments, in order, who runs them, and what they are
 * about, the disks that lose their contents where these are known. Why a step stands where it does is not part of it.
 */
export function planHash(
  steps: readonly PlannedStep[],
  subject: unknown,
  destroyedSerials: readonly string[] = [],
): string {
  const rows = steps.map(({ interface: stepInterface, step, priority, args, inBand, rebootRequested }) => [
    stepInterface,
    step,
    priority,
    sorted(args),
    inBand,
    rebootRequested,
  ]);
  return createHash('sha256')
    .update(JSON.stringify([sorted(subject), rows, ...(destroyedSerials.length > 0 ? [destroyedSerials] : [])]))
    .digest('hex');
}

/** The order of keys is nobody's decision. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
