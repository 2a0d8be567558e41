import { staysInRamdisk } from '#conductor/flows/conductor-steps/fast-track.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import type { ConnectRequest } from '#conductor/networks/connect-node.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { recordSwitchPort } from '#conductor/nodes/ports/port-store.ts';

/** Puts the node's switch ports somewhere and records where they were read back; answers the network's name. */
export async function connectNode(
  context: StepContext,
  destination: ConnectRequest['destination'],
): Promise<string | null> {
  const placements = await context.networks.connect({
    networkInterface: context.node.networkInterface,
    ports: await context.ports(),
    destination,
    signal: context.signal,
  });
  const [first] = placements;
  if (!first) return null;
  await context.record(async (tx) => {
    for (const placement of placements) await recordSwitchPort(tx, placement);
    await addHistory(tx, {
      nodeUuid: context.node.uuid,
      severity: 'INFO',
      eventType: 'network',
      event: first.network ? `switch ports moved to network ${first.network}` : 'switch ports isolated',
      conductor: context.config.conductorName,
    });
  });
  return first.network;
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
