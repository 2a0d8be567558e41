import { staysInRamdisk } from '#conductor/flows/conductor-steps/leave-ramdisk.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import type { ConnectRequest } from '#conductor/networks/connect-node.ts';
import type { SwitchPortPlacement } from '#conductor/networks/vifs/network-port.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { reserveBondNumbers } from '#conductor/nodes/ports/bond-numbers.ts';
import { listVifs, recordSwitchPort } from '#conductor/nodes/ports/port-store.ts';

/** Puts the node's switch ports somewhere and records where they were read back; answers that. */
export async function connectNode(
  context: StepContext,
  destination: ConnectRequest['destination'],
  groups: ConnectRequest['groups'] = [],
): Promise<readonly SwitchPortPlacement[]> {
  const placements = await context.networks.connect({
    nodeUuid: context.node.uuid,
    networkInterface: context.node.networkInterface,
    ports: await context.ports(),
    destination,
    groups,
    signal: context.signal,
  });
  if (placements.length === 0) return [];
  await context.record(async (tx) => {
    for (const { port, network, vlan, bond } of placements)
      await recordSwitchPort(tx, { portUuid: port.uuid, network, vlan, bond });
    await addHistory(tx, {
      nodeUuid: context.node.uuid,
      eventType: 'network',
      event: describeMove(placements),
      conductor: context.config.conductorName,
      ...requestIdsOf(context.flow),
    });
  });
  return placements;
}

/** Writes `switch ports moved to network blue`, `switch ports isolated`, or port by port. */
function describeMove(placements: readonly SwitchPortPlacement[]): string {
  const [network, ...others] = new Set(placements.map((placement) => placement.network));
  if (others.length === 0) return network ? `switch ports moved to network ${network}` : 'switch ports isolated';
  const each = placements.map(({ port, network: to }) => `${port.address} ${to ? `to network ${to}` : 'isolated'}`);
  return `switch ports moved: ${each.join(', ')}`;
}

export const leaveNetwork: ConductorStep = {
  interface: 'deploy',
  step: 'leave_network',
  description: "Takes the node's switch ports off every network.",
  run: async (context) => {
    if (staysInRamdisk(context)) return { kind: 'done', output: { fast_track: 'the ramdisk runs on' } };
    await connectNode(context, 'isolated');
    return { kind: 'done' };
  },
};

export const switchToTenantNetwork: ConductorStep = {
  interface: 'deploy',
  step: 'switch_to_tenant_network',
  description: "Moves the node's switch ports to the tenant's networks (its VIFs, or the default).",
  run: async (context) => {
    // power is off here, so that the ramdisk never sees the tenant's network; with kexec it only waits for its button
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
