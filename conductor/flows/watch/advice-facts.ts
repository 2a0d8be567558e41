import { and, desc, eq, sql } from 'drizzle-orm';
import { currentFault } from '#conductor/flows/log/step-fault.ts';
import type { DiskFacts, FaultFacts } from '#conductor/flows/watch/fault-advice.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { findHistoryEntry } from '#conductor/nodes/node-history.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';
import { type InventoryDisk, InventoryDocument } from '#shared/wire/inventory.ts';

/**
 * Reads what makes advice on a fault whole: the disk that it names, as last inventoried; the last good boot of such a
 * machine. It reads inventories, so it is for a fault that advice is given on.
 */
export async function readAdviceFacts(
  db: Queryable,
  nodeUuid: string,
  fault: Fault,
): Promise<Pick<FaultFacts, 'disk' | 'modelBoot'>> {
  if (fault.code === 'ramdisk_silent') return { modelBoot: await findModelBoot(db, nodeUuid) };
  return { disk: await findDisk(db, nodeUuid, fault) };
}

/** Finds who has switched the machine since the step began, of whom the flow knows nothing; of a silent ramdisk alone. */
export async function findPower(
  db: Queryable,
  nodeUuid: string,
  step: Pick<FlowStepRow, 'fault' | 'startedAt' | 'state' | 'waitingFor' | 'error'>,
): Promise<FaultFacts['power']> {
  const { startedAt: since } = step;
  if (since === null || currentFault(step)?.code !== 'ramdisk_silent') return undefined;
  const last = await findHistoryEntry(db, nodeUuid, { eventType: 'power', since });
  return last && { event: last.event, at: last.createdAt.toISOString() };
}

async function findDisk(db: Queryable, nodeUuid: string, { code, subject }: Fault): Promise<DiskFacts | undefined> {
  if (!subject?.startsWith('/dev/') && code !== 'disk_failing') return undefined;
  const kept = await findInventory(db, nodeUuid);
  const inventory = InventoryDocument.safeParse(kept?.inventory);
  const disks = (inventory.success && inventory.data.disks) || [];
  const named = disks.find(({ name }) => name === subject);
  // an older agent does not say which: the one that says itself that it fails, where it is alone
  const failing = disks.filter((disk) => disk.baton_health?.passed === false);
  const found = named ?? (subject === undefined && failing.length === 1 ? failing[0] : undefined);
  return found && toFacts(found);
}

function toFacts({ name, serial, model, baton_health: health }: InventoryDisk): DiskFacts {
  return {
    name,
    serial: serial ?? null,
    model: model ?? null,
    passed: health?.passed ?? null,
    badSectors: health?.bad_sectors ?? null,
  };
}

const field = (name: string) => sql<string | null>`${nodeInventory.inventory} -> 'system_vendor' ->> ${name}::text`;

/** Newest boot events of all nodes that a look goes through: a fleet's events are many. */
const newestEvents = 2000;
/** Nodes that have booted last whose inventories a look reads: each has tens of kilobytes. */
const newestNodes = 32;

/** Finds the last machine of the node's maker and product whose agent has called in after a boot, among the newest boots. */
async function findModelBoot(db: Queryable, nodeUuid: string): Promise<FaultFacts['modelBoot']> {
  const [maker, product] = [field('manufacturer'), field('product_name')];
  const [model] = await db.select({ maker, product }).from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid));
  if (!model?.maker || !model.product) return undefined;
  const events = db.select().from(nodeBootEvents).orderBy(desc(nodeBootEvents.id)).limit(newestEvents).as('events');
  const id = sql<number>`max(${events.id})`.as('last_id');
  const at = sql`max(${events.at})`.mapWith(nodeBootEvents.at).as('last_at');
  const boots = db
    .select({ nodeUuid: events.nodeUuid, id, at })
    .from(events)
    .where(eq(events.event, 'heartbeat'))
    .groupBy(events.nodeUuid)
    .orderBy(desc(id))
    .limit(newestNodes)
    .as('boots');
  // with a limit of its own no condition is moved into it, by which PostgreSQL might read all inventories
  const models = db
    .select({
      nodeUuid: boots.nodeUuid,
      id: boots.id,
      at: boots.at,
      maker: maker.as('maker'),
      product: product.as('product'),
    })
    .from(boots)
    .innerJoin(nodeInventory, eq(nodeInventory.nodeUuid, boots.nodeUuid))
    .limit(newestNodes)
    .as('models');
  const [last] = await db
    .select({ uuid: nodes.uuid, name: nodes.name, at: models.at })
    .from(models)
    .innerJoin(nodes, eq(nodes.uuid, models.nodeUuid))
    .where(and(eq(models.maker, model.maker), eq(models.product, model.product)))
    .orderBy(desc(models.id))
    .limit(1);
  return last && { model: `${model.maker} ${model.product}`, node: last.name ?? last.uuid, at: last.at.toISOString() };
}
