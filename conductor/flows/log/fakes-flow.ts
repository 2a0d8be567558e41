import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { interfaceOf } from '#conductor/nodes/node-interfaces.ts';

/** Note on a wipe that is none, where an operator would take it for one. */
export const simulatedWipe = 'simulated (deploy_interface fake): no disk is touched, no receipt';

/** Returns whether the flow does nothing at the machine but what its fake BMC does. */
export function fakesFlow(kind: FlowKindName, node: Parameters<typeof interfaceOf>[0]): boolean {
  return whyFaked(kind, node) !== undefined;
}

/** Returns which of the node's interfaces is a fake one. */
export function whyFaked(kind: FlowKindName, node: Parameters<typeof interfaceOf>[0]): string | undefined {
  const { byInterface } = flowKinds[kind];
  if (byInterface === undefined || interfaceOf(node, byInterface) !== 'fake') return undefined;
  return `its ${byInterface} interface is fake`;
}

export const fakeDeploy: ConductorStep = {
  interface: 'deploy',
  step: 'fake_deploy',
  description: 'Does nothing: the deploy interface is `fake`.',
  run: () => Promise.resolve({ kind: 'done' }),
};
