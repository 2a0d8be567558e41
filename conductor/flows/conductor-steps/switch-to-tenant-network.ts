import { connectNode } from '#conductor/flows/conductor-steps/leave-network.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { listVifs } from '#conductor/nodes/vifs/vif-store.ts';

export const switchToTenantNetwork: ConductorStep = {
  interface: 'deploy',
  step: 'switch_to_tenant_network',
  description: "Moves the node's switch ports from the provisioning network to the tenant's (its VIF, or the default).",
  run: async (context) => {
    // power is off here, so that the ramdisk never sees the tenant's network
    const [vif] = await context.ask(listVifs(context.db, context.node.uuid));
    const network = await connectNode(context, { purpose: 'tenant', networkName: vif });
    return { kind: 'done', output: { network } };
  },
};
