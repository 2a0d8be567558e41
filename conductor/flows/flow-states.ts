/** The kinds of flow (their rows stand in `flow-kinds.ts`) and the states of a flow. */
export const flowKindNames = ['verify', 'clean', 'deploy', 'teardown'] as const;
export type FlowKindName = (typeof flowKindNames)[number];

/** `failing`: a step has failed and the kind's clean-up steps are running. */
export const flowStates = ['running', 'waiting', 'failing', 'succeeded', 'failed', 'aborted'] as const;
export type FlowState = (typeof flowStates)[number];
