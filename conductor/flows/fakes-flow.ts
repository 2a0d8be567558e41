import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';

/** Of a wipe that is none, where an operator would take it for one. */
export const simulatedWipe = 'simulated (deploy_interface fake): no disk is touched, no receipt';

/** Whether the flow does nothing at the machine but what its fake BMC does. */
export function fakesFlow(kind: FlowKindName, node: Parameters<typeof hasFakeDeploy>[0]): boolean {
  return flowKinds[kind].byDeployInterface === true && hasFakeDeploy(node);
}
