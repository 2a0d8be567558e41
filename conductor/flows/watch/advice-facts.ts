import { and, desc, eq, sql } from 'drizzle-orm';
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

/** Reads what is known beside a fault: the disk that it names, as last inventoried; the last good boot of such a machine. */
export async function readAdviceFacts(
  db: Queryable,
  nodeUuid: string,
  { fault, startedAt: since }: Pick<FlowStepRow, 'fault' | 'startedAt'>,
): Promise<Pick<FaultFacts, 'disk' | 'modelBoot' | 'power'>> {
  if (fault === null) return {};
  if (fault.code === 'ramdisk_silent') {
    const [modelBoot, power] = await Promise.all([findModelBoot(db, nodeUuid), findPower(db, nodeUuid, since)]);
    return { modelBoot, power };
  }
  return { disk: await findDisk(db, nodeUuid, fault) };
}

/** Finds who has switched the machine since the step began, of whom the flow knows nothing. */
async function findPower(db: Queryable, nodeUuid: string, since: Date | null): Promise<FaultFacts['power']> {
  if (since === null) return undefined;
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

/** Finds the last machine of the node's maker and product whose agent has called in after a boot. */
async function findModelBoot(db: Queryable, nodeUuid: string): Promise<FaultFacts['modelBoot']> {
  const [maker, product] = [field('manufacturer'), field('product_name')];
  const [model] = await db.select({ maker, product }).from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid));
  if (!model?.maker || !model.product) return undefined;
  const [last] = await db
    .select({ uuid: nodes.uuid, name: nodes.name, at: nodeBootEvents.at })
    .from(nodeBootEvents)
    .innerJoin(nodeInventory, eq(nodeInventory.nodeUuid, nodeBootEvents.nodeUuid))
    .innerJoin(nodes, eq(nodes.uuid, nodeBootEvents.nodeUuid))
    .where(and(eq(maker, model.maker), eq(product, model.product), eq(nodeBootEvents.event, 'heartbeat')))
    .orderBy(desc(nodeBootEvents.at))
    .limit(1);
  return last && { model: `${model.maker} ${model.product}`, node: last.name ?? last.uuid, at: last.at.toISOString() };
}
