import type { FlowKindName } from '#conductor/model/flow-states.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';

/** What the deploy interface does, as in Ironic; inspection and rescue have interfaces of their own. */
const ofDeployInterface: ReadonlySet<FlowKindName> = new Set(['deploy', 'clean', 'manual_clean', 'service', 'wipe']);

/** Of a wipe that is none, where an operator would take it for one. */
export const simulatedWipe = 'simulated (deploy_interface fake): no disk is touched, no receipt';

/** Whether the flow does nothing at the machine but what its fake BMC does. */
export function fakesFlow(kind: FlowKindName, node: Parameters<typeof hasFakeDeploy>[0]): boolean {
  return ofDeployInterface.has(kind) && hasFakeDeploy(node);
}
