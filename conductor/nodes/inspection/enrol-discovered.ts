import { randomUUID } from 'node:crypto';
import { and, eq, inArray, isNotNull, or, type SQL, sql } from 'drizzle-orm';
import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { lockUntilEnd } from '#conductor/kernel/db/session/lock-key.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { listMissing } from '#conductor/nodes/driver-info.ts';
import { applyInspection } from '#conductor/nodes/inspection/apply-inspection.ts';
import { applyRules, type RulesContext } from '#conductor/nodes/inspection/apply-rules.ts';
import { type DiscoverySource, markSource, requireRoom } from '#conductor/nodes/inspection/discovery-shares.ts';
import { type InspectedMachine, nodesWithBmc } from '#conductor/nodes/inspection/find-inspected-node.ts';
import { addHistory, addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { keptDeployInterface, keptInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { getNode, insertNode } from '#conductor/nodes/node-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { filledIn, realSerial, realUuid, writtenUuids } from '#shared/machine-identity.ts';
import type { InventoryDocument } from '#shared/wire/inventory.ts';
import { nameSome } from '#shared/words.ts';

export type DiscoveryContext = Pick<NodesContext, 'db' | 'clock' | 'networks'> & RulesContext;

/**
 * Enrols a machine that no node is known by, with what its ramdisk has found (`BATON_DISCOVERY`). A machine whose serial
 * number, UUID or BMC is that of a node is not enrolled: new network cards or boards are put into that node's history.
 * @param source who reports; absent in process
 * @throws AppError `not_found` for a machine that is known, `unavailable` where too many wait in `enroll`,
 * `invalid_argument` where the inventory has no usable network card, or a rule says that its inspection fails.
 */
export async function enrolDiscovered(
  context: DiscoveryContext,
  machine: InspectedMachine,
  found: { readonly document: InventoryDocument; readonly inventory: JsonObject; readonly pluginData: JsonObject },
  source?: DiscoverySource,
): Promise<NodeRow> {
  const { config } = context;
  const { discovery } = config;
  if (discovery === undefined || machine.nodeUuid !== undefined) throw unknownMachine();
  const outcome = await context.db.transaction(async (tx) => {
    // machines report at the same time, and one may report twice
    await lockUntilEnd(tx, 'discovery');
    if (await hasPort(tx, machine.addresses)) {
      await markSeen(tx, machine.addresses, context.clock.now());
      return undefined;
    }
    const known = await findByHardware(tx, machine, found.document);
    if (known.length > 0) return { known };
    await requireRoom(tx, source, discovery.limit);
    const nodeUuid = randomUUID();
    await insertNode(tx, describeNode(nodeUuid, machine, found.document, config));
    const { inventory } = found;
    const pluginData = { ...found.pluginData, ...markSource(source) };
    const now = context.clock.now();
    // asks no switch: anybody on the network may say that a machine hears one
    const { placeOf } = context.networks;
    try {
      await applyInspection(tx, { nodeUuid, inventory, pluginData, placeOf, conductor: config.conductorName, now });
      await applyRules(tx, context, nodeUuid);
    } catch (cause) {
      // what an agent answers wrongly when it is asked is here what a stranger has sent
      if (errorCode(cause) !== 'agent_error') throw cause;
      throw new AppError('invalid_argument', 'enrol a discovered machine', { cause });
    }
    const enrolled = await getNode(tx, nodeUuid);
    await addHistory(tx, {
      nodeUuid,
      eventType: 'discovery',
      event: `discovered; ${describeMissing(enrolled)}`,
      conductor: config.conductorName,
    });
    return { enrolled };
  });
  if (outcome?.enrolled) return outcome.enrolled;
  for (const known of outcome?.known ?? []) await reportNewCards(context, known, machine.addresses);
  throw unknownMachine();
}

/** Anybody may report: no more histories than so many hear of it. */
const mostKnown = 8;

/** Makes the refusal of an unknown machine, with one text for every reason, so that a stranger learns nothing. */
const unknownMachine = () => new AppError('not_found', 'Resource could not be found.');

async function hasPort(db: Queryable, addresses: readonly string[]): Promise<boolean> {
  if (addresses.length === 0) return false;
  return (await db.$count(ports, isAmong(ports.address, addresses))) > 0;
}

/** A machine that still boots is not forgotten. */
async function markSeen(db: Queryable, addresses: readonly string[], now: Date): Promise<void> {
  const owners = db.select({ uuid: ports.nodeUuid }).from(ports).where(isAmong(ports.address, addresses));
  const isDiscovered = and(eq(nodes.provisionState, 'enroll'), isNotNull(nodes.inspectionFinishedAt));
  await db
    .update(nodes)
    .set({ inspectionFinishedAt: now })
    .where(and(isDiscovered, inArray(nodes.uuid, owners)));
}

async function findByHardware(
  db: Queryable,
  machine: InspectedMachine,
  { system_vendor: vendor }: InventoryDocument,
): Promise<readonly string[]> {
  const inInventory = (field: string): SQL<string | null> =>
    sql`${nodeInventory.inventory} -> 'system_vendor' ->> ${field}::text`;
  const { baton_system_uuid: systemUuid, serial_number: serial, product_name: product } = vendor ?? {};
  const uuid = realUuid(systemUuid);
  const marks = [
    ...(uuid === null ? [] : [inArray(sql`lower(${inInventory('baton_system_uuid')})`, [...writtenUuids(uuid)])]),
    ...(typeof serial === 'string' && realSerial(serial) !== null
      ? [and(eq(inInventory('serial_number'), serial), eq(inInventory('product_name'), String(product)))]
      : []),
  ];
  const rows =
    marks.length === 0
      ? []
      : await db
          .select({ uuid: nodeInventory.nodeUuid })
          .from(nodeInventory)
          .where(or(...marks))
          .limit(mostKnown);
  return rows.length > 0 ? rows.map((row) => row.uuid) : nodesWithBmc(db, machine.bmcAddresses);
}

function describeNode(
  uuid: string,
  machine: InspectedMachine,
  { system_vendor: vendor }: InventoryDocument,
  { discovery, conductorGroup, defaultNetworkInterface }: NodesContext['config'],
): Parameters<typeof insertNode>[1] {
  const { driver = '' } = discovery ?? {};
  const field = findDriver(driver)?.bmc?.address;
  const [address] = machine.bmcAddresses;
  const words = [vendor?.['manufacturer'], vendor?.['product_name'], vendor?.['serial_number']].map((word) =>
    typeof word === 'string' ? filledIn(word) : null,
  );
  return {
    uuid,
    driver,
    driverInfo: field === undefined || address === undefined ? {} : { [field]: address },
    description: words
      .filter((word) => word !== null)
      .join(' ')
      .slice(0, 255),
    conductorGroup,
    networkInterface: defaultNetworkInterface,
    deployInterface: keptDeployInterface(driver, undefined),
    interfaces: keptInterfaces(driver, {}),
    provisionState: 'enroll',
  };
}

function describeMissing(node: NodeRow): string {
  const missing = listMissing(node);
  return missing.length === 0 ? 'it can be managed' : `before it can be managed it needs ${missing.join(', ')}`;
}

async function reportNewCards(
  { db, config, log }: Pick<NodesContext, 'db' | 'config' | 'log'>,
  nodeUuid: string,
  addresses: readonly string[],
): Promise<void> {
  const event =
    `a machine with this node's serial number, UUID or BMC has booted with network cards that are not its ports: ` +
    `${nameSome(addresses, 8)}; if cards or boards were replaced, change the ports`;
  log.warn({ node: nodeUuid, addresses }, 'a known machine has unknown network cards');
  const { conductorName: conductor } = config;
  // it asks again and again
  await addStrangersHistory(db, { nodeUuid, severity: 'ERROR', eventType: 'discovery', event, conductor }, 1);
}
