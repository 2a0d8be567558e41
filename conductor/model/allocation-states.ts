/** States of an allocation, in Ironic's words. */
export const allocationStates = ['allocating', 'active', 'error'] as const;
export type AllocationState = (typeof allocationStates)[number];
