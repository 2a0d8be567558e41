import { connectNode } from '#conductor/flows/conductor-steps/leave-network.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { reserveBondNumbers } from '#conductor/nodes/ports/bond-numbers.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';

export const switchToTenantNetwork: ConductorStep = {
  interface: 'deploy',
  step: 'switch_to_tenant_network',
  description: "Moves the node's switch ports to the tenant's networks (its VIFs, or the default).",
  run: async (context) => {
    // power is off here, so that the ramdisk never sees the tenant's network; with kexec it waits there for its button alone
    const vifs = await context.ask(listVifs(context.db, context.node.uuid));
    const { networks } = context.networks;
    const groups = await context.record((tx) => reserveBondNumbers(tx, networks, context.node.uuid));
    const placements = await connectNode(context, { purpose: 'tenant', vifs }, groups);
    const [network = null, ...others] = new Set(placements.map((placement) => placement.network));
    if (others.length === 0) return { kind: 'done', output: { network } };
    return {
      kind: 'done',
      output: { networks: Object.fromEntries(placements.map((each) => [each.port.address, each.network])) },
    };
  },
};
