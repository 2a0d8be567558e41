import type { Transitions } from '#conductor/model/transitions.ts';

/** In Ironic's words. */
export type AllocationState = 'allocating' | 'active' | 'error';

/** An allocation that has its node, or has failed, ends by being deleted. */
export const allocationStates = {
  allocating: ['active', 'error'],
  active: [],
  error: [],
} as const satisfies Transitions<AllocationState>;
