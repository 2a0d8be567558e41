import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';

/** With an instance and without one, by the agent's steps and by the conductor's own. */
export const someFlows: readonly FlowKindName[] = ['deploy', 'teardown', 'manual_clean'];
