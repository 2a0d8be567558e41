import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import type { JsonObject } from '#conductor/db/schema/node.ts';
import { type NodeInventoryRow, nodeInventory } from '#conductor/db/schema/node-inventory.ts';
import { storableJson } from '#conductor/db/storable-json.ts';
import { type KnownDisk, toKnownDisk } from '#conductor/inspection/known-disk.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

/** The node's inventory as its ramdisk gave it; `undefined` before the first. */
export async function findInventory(db: Queryable, nodeUuid: string): Promise<NodeInventoryRow | undefined> {
  const [row] = await db.select().from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid));
  return row;
}

/** Keeps an inventory in place of the one before. Without `pluginData` that of the last inspection stays. */
export async function recordInventory(
  db: Queryable,
  found: {
    readonly nodeUuid: string;
    /** An `InventoryDocument`. */
    readonly inventory: JsonObject;
    readonly pluginData?: JsonObject;
  },
): Promise<void> {
  const change = {
    inventory: storableJson(found.inventory),
    ...(found.pluginData ? { pluginData: storableJson(found.pluginData) } : {}),
  };
  await db
    .insert(nodeInventory)
    .values({ nodeUuid: found.nodeUuid, ...change })
    .onConflictDoUpdate({ target: nodeInventory.nodeUuid, set: { ...change, collectedAt: sql`now()` } });
}

/** What the machine's disks were, and what was on them, when a ramdisk last looked. */
export async function latestInventory(
  db: Queryable,
  nodeUuid: string,
): Promise<{ readonly collectedAt: Date; readonly disks: readonly KnownDisk[] } | undefined> {
  const row = await findInventory(db, nodeUuid);
  const inventory = InventoryDocument.safeParse(row?.inventory);
  if (!row || !inventory.success) return undefined;
  return { collectedAt: row.collectedAt, disks: inventory.data.disks.map(toKnownDisk) };
}
