import type { PlannedStep } from '#conductor/model/planned-step.ts';

/**
 * What a plan comes to, by `digest` in 64 hex digits: the steps with their arguments, in order, who runs them, and what they are
 * about, the disks that lose their contents where these are known. Why a step stands where it does is not part of it.
 * Secrets count in clear: sealed again, they make the same plan.
 */
export function planHash(
  steps: readonly PlannedStep[],
  subject: unknown,
  {
    digest,
    destroyedSerials = [],
  }: { readonly digest: (text: string) => string; readonly destroyedSerials?: readonly string[] },
): string {
  const rows = steps.map(({ interface: stepInterface, step, priority, args, inBand, rebootRequested, plugin }) => [
    stepInterface,
    step,
    priority,
    sorted(args),
    inBand,
    rebootRequested,
    ...(plugin ? [sorted(plugin)] : []),
  ]);
  return digest(JSON.stringify([sorted(subject), rows, ...(destroyedSerials.length > 0 ? [destroyedSerials] : [])]));
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
