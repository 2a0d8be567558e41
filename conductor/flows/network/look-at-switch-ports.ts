import { and, eq, inArray, isNull, notExists, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { isAtNeutron, lookAtNeutron, requestAsSet } from '#conductor/flows/network/neutron-ports.ts';
import type { SetPort } from '#conductor/flows/network/set-port.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { responsibleConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, ports, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { type FoundVlans, sameVlans } from '#conductor/model/port-vlans.ts';
import { type FoundBond, sameBond } from '#conductor/model/switch-bond.ts';
import { type SwitchPortLook, settingOf } from '#conductor/networks/connect-node.ts';
import { planNetworkMove } from '#conductor/networks/network-interfaces.ts';
import { findSwitch } from '#conductor/networks/networks-file.ts';
import { describePort, isSet } from '#conductor/networks/switch-driver.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';
import { addHistory, changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { ofGroup } from '#conductor/nodes/node-lease.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { recordSwitchPort } from '#conductor/nodes/ports/port-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Reads the switch ports of this conductor's nodes that no flow moves, and records which are otherwise than they were set:
 * somebody else has changed them, or a switch has restarted without its configuration. They are set again where the networks
 * file says so (`repair`), unless they are of a restored node. A switch that does not answer is looked at again in the next period.
 * @param repair called for each node that has such a port, with whether one of its ports is to be set
 */
export async function lookAtSwitchPorts(
  context: EngineContext,
  signal: AbortSignal,
  repair: (node: NodeRow, isMeant: (port: PortRow) => boolean) => Promise<void>,
): Promise<void> {
  const { db, config, networks, log } = context;
  const live = await context.conductors.live();
  const rows = await db
    .select({ port: ports, set: switchPorts, node: nodes })
    .from(switchPorts)
    .innerJoin(ports, eq(ports.uuid, switchPorts.portUuid))
    .innerJoin(nodes, eq(nodes.uuid, ports.nodeUuid))
    .where(
      and(
        ofGroup(config.conductorGroup),
        inArray(nodes.networkInterface, ['switchport', 'neutron']),
        noOpenFlow(db, nodes.uuid),
      ),
    );
  const ours = rows.filter(({ node }) => responsibleConductor(live, node) === config.conductorName);
  const byInterface = Map.groupBy(ours, ({ node }) => isAtNeutron(node));
  const seen = [
    ...(await seeSwitches(context, byInterface.get(false) ?? [], signal)),
    ...(await seeNeutron(context, byInterface.get(true) ?? [], signal)),
  ];
  if (signal.aborted) return;
  const same: string[] = [];
  for (const each of seen) {
    if (isKnown(each)) same.push(each.row.port.uuid);
    else await recordDifference(context, each);
  }
  if (same.length > 0) {
    await db.update(switchPorts).set({ lookedAt: new Date() }).where(isAmong(switchPorts.portUuid, same));
  }
  const isMeant = ({ localLinkConnection }: PortRow, node: NodeRow): boolean =>
    (isAtNeutron(node)
      ? networks.networks.neutron?.repair
      : findSwitch(networks.networks, String(localLinkConnection['switch_id']))?.repair) ?? false;
  const wrong = seen.flatMap(({ found, row }) => (found === null ? [] : row));
  // where ports of a restored node were in the dump gives no access: it may have been moved since
  const known = wrong.filter(({ node }) => node.fault !== nodeFaults.restored);
  const repaired = new Map(known.filter(({ port, node }) => isMeant(port, node)).map(({ node }) => [node.uuid, node]));
  for (const node of repaired.values()) {
    if (signal.aborted) return;
    await repair(node, (port) => isMeant(port, node)).catch((error: unknown) =>
      log.warn({ node: node.uuid, err: error }, 'switch ports not set again'),
    );
  }
}

type NodePort = SetPort & { readonly node: NodeRow };

interface SeenPort {
  readonly row: NodePort;
  /** `null` = as it was set. */
  readonly found: { readonly vlans: FoundVlans; readonly bond: FoundBond | 'unknown' | null } | null;
  /** For the node's history. */
  readonly event: string;
}

async function seeSwitches(
  context: EngineContext,
  rows: readonly NodePort[],
  signal: AbortSignal,
): Promise<SeenPort[]> {
  const { networks, log } = context;
  const moves = [...Map.groupBy(rows, ({ node }) => node.uuid).values()].flatMap((ofNode) => {
    try {
      return movesTo(context, ofNode);
    } catch (error) {
      log.warn({ node: ofNode[0]?.node.uuid, err: error }, 'switch ports not looked at');
      return [];
    }
  });
  const { looks, failures } = await networks.look(moves, signal);
  if (signal.aborted) return [];
  for (const { moves: missed, error } of failures) {
    log.warn({ switch: missed[0]?.switchEntry.switchId, ports: missed.length, err: error }, 'switch ports not read');
  }
  const byUuid = new Map(rows.map((row) => [row.port.uuid, row]));
  return looks.flatMap((look) => {
    const row = byUuid.get(look.move.port.uuid);
    return row ? seenAtSwitch(look, row) : [];
  });
}

function seenAtSwitch(look: SwitchPortLook, row: NodePort): SeenPort {
  const { move, found } = look;
  const where = `switch port of ${row.port.address} (${move.switchEntry.switchId} ${move.portId})`;
  const { network } = row.set;
  const wanted = `${describePort(settingOf(move))}${network === null ? '' : ` (network ${network})`}`;
  if (!portDiffers(look)) return { row, found: null, event: `${where} is on ${wanted} again` };
  const event = `${where} differs: found ${describePort(found)}, set by Baton to ${wanted}`;
  return { row, found: { vlans: found.vlans, bond: found.bond ?? null }, event };
}

/** One node after the other: Neutron lists the ports of one node at a time. */
async function seeNeutron(context: EngineContext, rows: readonly NodePort[], signal: AbortSignal): Promise<SeenPort[]> {
  const seen: SeenPort[] = [];
  for (const [node, ofNode] of Map.groupBy(rows, ({ node: { uuid } }) => uuid)) {
    if (signal.aborted) break;
    const { looks, error } = await lookAtNeutron(context, node, ofNode, { signal });
    if (error && !signal.aborted) context.log.warn({ node, err: error }, 'ports at Neutron not read');
    // it is asked for the others in the next period
    if (error?.retryable) break;
    for (const { port, differences } of looks) {
      const row = ofNode.find((each) => each.port.uuid === port.uuid);
      if (!row) continue;
      const where = `switch port of ${port.address} at Neutron`;
      const isSame = differences.length === 0;
      const event = isSame ? `${where} is as Baton has set it again` : `${where} differs: ${differences.join('; ')}`;
      seen.push({ row, found: isSame ? null : { vlans: 'other', bond: null }, event });
    }
  }
  return seen;
}

export function listSetPorts(db: Queryable, nodeUuid: string): Promise<SetPort[]> {
  return db
    .select({ port: ports, set: switchPorts })
    .from(switchPorts)
    .innerJoin(ports, eq(ports.uuid, switchPorts.portUuid))
    .where(eq(ports.nodeUuid, nodeUuid))
    .orderBy(ports.id);
}

/** Returns the moves that would put ports back where they were set. @throws AppError `invalid_argument` */
export function movesTo({ networks }: Pick<EngineContext, 'networks'>, ofNode: readonly SetPort[]): SwitchPortMove[] {
  if (ofNode.length === 0) return [];
  return planNetworkMove({
    networkInterface: 'switchport',
    ports: ofNode.map(({ port }) => port),
    networks: networks.networks,
    destination: asSet(ofNode),
  });
}

/** Returns the settings that ports were given last. */
function asSet(ofNode: readonly SetPort[]) {
  return {
    networks: new Map(ofNode.map(({ port, set }) => [port.uuid, set.network])),
    bonds: new Map(ofNode.flatMap(({ port, set }) => (set.bond ? [[port.uuid, set.bond] as const] : []))),
  };
}

export function portDiffers({ move, found }: SwitchPortLook): boolean {
  return !isSet(found, settingOf(move));
}

/** Returns whether nothing is new since the last look. */
function isKnown({ row: { set }, found }: SeenPort): boolean {
  if (found === null || set.found === null) return found === set.found;
  const isSameBond = found.bond === set.foundBond || sameBond(found.bond, set.foundBond);
  return sameVlans(found.vlans, set.found) && isSameBond;
}

/** Unless a flow has come in between: what was read then is worth nothing. */
async function recordDifference(
  { db, config }: EngineContext,
  { row: { port, set }, found, event }: SeenPort,
): Promise<void> {
  await db.transaction(async (tx) => {
    const isUnmoved = and(
      eq(switchPorts.portUuid, port.uuid),
      eq(switchPorts.appliedAt, set.appliedAt),
      noOpenFlow(tx, sql`${port.nodeUuid}::uuid`),
    );
    const change = { found: found?.vlans ?? null, foundBond: found?.bond ?? null, lookedAt: new Date() };
    const changed = await tx.update(switchPorts).set(change).where(isUnmoved).returning({ uuid: switchPorts.portUuid });
    if (changed.length === 0) return;
    await addHistory(tx, {
      nodeUuid: port.nodeUuid,
      severity: found === null ? 'INFO' : 'ERROR',
      eventType: 'network',
      event,
      conductor: config.conductorName,
    });
  });
}

function noOpenFlow(db: Queryable, nodeUuid: Parameters<typeof eq>[1]) {
  const open = and(eq(flows.nodeUuid, nodeUuid as string), isNull(flows.endedAt));
  return notExists(db.select({ one: sql`1` }).from(flows).where(open));
}

/**
 * Puts a node's switch ports back where Baton has set them last, and reads them back.
 * @param isMeant which of them; default: all
 * @throws AppError `conflict` while a flow is open, which sets them by itself; `node_locked`, `switch_error`, `unavailable`
 */
export async function repairSwitchPorts(
  context: EngineContext,
  node: Pick<NodeRow, 'uuid' | 'networkInterface'>,
  caller: Caller,
  isMeant: (port: PortRow) => boolean = () => true,
): Promise<void> {
  const { db, networks } = context;
  await withNodeLock(context, node.uuid, async (signal) => {
    if (await findOpenFlow(db, node.uuid)) {
      throw new AppError('conflict', `Node ${node.uuid} has a flow under way, which sets its switch ports.`);
    }
    const setPorts = (await listSetPorts(db, node.uuid)).filter(({ port }) => isMeant(port));
    if (setPorts.length === 0) return;
    const { networkInterface } = node;
    const request = isAtNeutron(node)
      ? await requestAsSet(context, node.uuid, setPorts)
      : { nodeUuid: node.uuid, ports: setPorts.map(({ port }) => port), destination: asSet(setPorts) };
    const placements = await networks.connect({ ...request, networkInterface, signal });
    await db.transaction(async (tx) => {
      for (const { port, network, vlan, bond } of placements)
        await recordSwitchPort(tx, { portUuid: port.uuid, network, vlan, bond });
      await writeChangeNote(tx, node.uuid, changeNote(context, caller, 'switch ports set again as recorded'));
    });
  });
}
