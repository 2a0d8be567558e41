import type { ConductorRow } from '#conductor/kernel/db/schema/conductor.ts';

/**
 * The newest work that this release can do, as it says so in the register, and as a site action may need it
 * (`site_actions.needs`): 0 = all before there was this number, 1 = nodes are torn down by site actions,
 * 2 = an action is a flow of the site.
 */
export const workKnown = 2;

/** Whether a conductor's release is older than the work: its present life has not said that it can do it. Pure. */
export function isOlderThan(
  work: number,
  { knows, knowsGeneration, generation }: Pick<ConductorRow, 'knows' | 'knowsGeneration' | 'generation'>,
): boolean {
  return knowsGeneration !== generation || knows < work;
}
