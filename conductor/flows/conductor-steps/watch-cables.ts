import { askForHeardLldp } from '#conductor/agents/ask-agent.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { networkInterfaces, parseNetworkInterface } from '#conductor/networks/network-interfaces.ts';
import {
  compareCablesIn,
  describeMovedCable,
  describeUncompared,
  neighboursOf,
} from '#conductor/nodes/inspection/moved-cables.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { HeardLldp } from '#shared/wire/inventory.ts';

/** Has the agent listen, so that by the end of the deploy it knows where the machine is plugged in. */
export async function startWatchingCables(context: StepContext): Promise<void> {
  await hearSwitches(context);
}

/**
 * Compares where the deploy's own ramdisk has heard its ports to be with what is recorded, before any is moved to the
 * tenant's network; the node's history says what differs, and what can't be compared, which is no reason to refuse. A switch that is silent, or an agent that doesn't listen, is
 * no fault.
 * @throws AppError `conflict` where the networks file says `moved_cables: refuse`
 */
export async function checkCables(context: StepContext): Promise<void> {
  const heard = await hearSwitches(context);
  if (heard === undefined) return;
  const { networks } = context.networks;
  const placeOf = await context.networks.askPlaces(neighboursOf(heard), context.signal);
  const cables = compareCablesIn(heard, await context.ports(), placeOf);
  const moved = cables.moved.map(describeMovedCable);
  if (moved.length > 0 && networks.movedCables === 'refuse') {
    throw new AppError('conflict', `no port is moved: ${moved.join('; ')}`);
  }
  await context.record(async (tx) => {
    const uncompared = cables.uncompared.map((cable) => ({
      event: describeUncompared(cable),
      severity: 'INFO' as const,
    }));
    for (const { event, severity } of [
      ...moved.map((event) => ({ event, severity: 'ERROR' as const })),
      ...uncompared,
    ]) {
      await addHistory(tx, {
        nodeUuid: context.node.uuid,
        severity,
        eventType: 'network',
        event,
        conductor: context.config.conductorName,
        ...requestIdsOf(context.flow),
      });
    }
  });
}

async function hearSwitches(context: StepContext): Promise<HeardLldp | undefined> {
  const { node, flow, networks, log, signal } = context;
  const { sorted, closing } = flowKinds[flow.kind];
  const reachesTenant = [...sorted, ...closing].some(({ step }) => step === 'switch_to_tenant_network');
  const isConnected = networkInterfaces[parseNetworkInterface(node.networkInterface)].connects;
  if (!reachesTenant || !isConnected || networks.networks.movedCables === 'off') return undefined;
  try {
    return await askForHeardLldp(context.agent());
  } catch (error) {
    if (signal.aborted || errorCode(error) !== 'agent_error') throw error;
    log.debug({ err: error }, 'the agent does not listen to switches');
    return undefined;
  }
}
