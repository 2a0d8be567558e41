import { inArray } from 'drizzle-orm';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import { isFastTracked } from '#conductor/nodes/fast-tracked.ts';
import type { CommandResult } from '#shared/wire/command.ts';

/** Kinds that may leave the ramdisk running for the next flow, the node being nobody's. */
const leavesRamdisk: readonly FlowKindName[] = ['inspect', 'clean', 'manual_clean'];

/** Fast track: the flow ends with the ramdisk running, on the network where it is. */
export function staysInRamdisk(context: StepContext): boolean {
  return context.step.phase === 'main' && leavesRamdisk.includes(context.flow.kind) && keepsRamdisk(context);
}

/** In a site's action the next flow follows at once: only a node that says no boots again for each. */
function keepsRamdisk({ config, node, flow }: Pick<StepContext, 'config' | 'node' | 'flow'>): boolean {
  return isFastTracked({ fastTrack: config.fastTrack || flow.actionId !== null }, node);
}

/**
 * Fast track: the ramdisk of an earlier flow runs, has called in lately and is on the network that this flow wants, so
 * that nothing has to boot.
 */
export async function ramdiskRuns(context: StepContext): Promise<boolean> {
  const { config, session, clock } = context;
  if (!keepsRamdisk(context) || !session?.callbackUrl || !session.lastHeartbeatAt) return false;
  if (clock.now().getTime() - session.lastHeartbeatAt.getTime() > config.fastTrackTimeoutMs) return false;
  if (!(await isOnNetwork(context))) return false;
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  if (power !== 'power on') return false;
  try {
    const isUsable = isTraceless(await context.agent().list());
    if (!isUsable) context.log.info('fast track: a flow has failed in that ramdisk, so the machine is booted');
    return isUsable;
  } catch (error) {
    context.log.info({ err: error }, 'fast track: the agent does not answer, so the machine is booted');
    return false;
  }
}

/**
 * Whether none of the agent's commands could be taken for one of the flow that comes. Flows that succeed leave no such
 * traces, and those that fail power off; but a BMC may refuse that.
 */
export function isTraceless(commands: readonly CommandResult[]): boolean {
  return commands.every(({ command_name: name, command_status: status }) =>
    name.startsWith('execute_') ? status === 'SUCCEEDED' : name !== 'install_bootloader',
  );
}

async function isOnNetwork(context: StepContext): Promise<boolean> {
  const { networkInterface } = context.node;
  if (networkInterface !== 'switchport' && networkInterface !== 'neutron') return true;
  const { defaults, neutron } = context.networks.networks;
  const purpose = flowKinds[context.flow.kind].ramdiskNetwork;
  const isNeutron = networkInterface === 'neutron';
  const wanted = (isNeutron ? neutron && { ...neutron.networks, tenant: undefined } : defaults)?.[purpose];
  const uuids = (await context.ports()).map((port) => port.uuid);
  const rows = await context.ask(
    context.db.select({ network: switchPorts.network }).from(switchPorts).where(inArray(switchPorts.portUuid, uuids)),
  );
  // by Neutron only ports that boot from the network are there
  const isThere = ({ network }: { network: string | null }): boolean => network === wanted;
  return rows.some(isThere) && rows.every((row) => isThere(row) || (isNeutron && row.network === null));
}
