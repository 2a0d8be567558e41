import { eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';
import { type NodeInventoryRow, nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type KnownDisk, toKnownDisk } from '#conductor/model/known-disk.ts';
import { isByBmc, joinInventory, joinPluginData } from '#conductor/nodes/inspection/bmc-inventory.ts';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { isNoDisk } from '#shared/disks/disk.ts';
import { InventoryDisk, InventoryDocument } from '#shared/wire/inventory.ts';

/** Finds the node's inventory as its ramdisk gave it; `undefined` before the first. */
export async function findInventory(db: Queryable, nodeUuid: string): Promise<NodeInventoryRow | undefined> {
  const [row] = await db.select().from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid));
  return row;
}

/** Returns the machine's UUID (SMBIOS) as its ramdisk read it; `undefined` when an inventory has none. Pure. */
export function systemUuidOf(inventory: JsonObject | undefined): string | undefined {
  const parsed = InventoryDocument.safeParse(inventory);
  return parsed.success ? (parsed.data.system_vendor?.baton_system_uuid ?? undefined) : undefined;
}

/**
 * Keeps what an inspection has found in place of the inventory before: somebody wanted to know what the machine is made
 * of now, and what it does not have any more is gone.
 */
export async function recordInspected(
  db: Queryable,
  found: {
    readonly nodeUuid: string;
    readonly inventory: JsonObject;
    /** Without it that of the last inspection stays. */
    readonly pluginData?: JsonObject;
  },
): Promise<void> {
  // a report that says nothing of disks is no reason to forget those that were there
  const before = hasDisks(found.inventory) ? undefined : await findInventory(db, found.nodeUuid);
  const change = {
    inventory: storableJson(found.inventory),
    missingDisks: before ? storableJson(missingDisks(before, found.inventory)) : [],
    ...(found.pluginData ? { pluginData: storableJson(found.pluginData) } : {}),
  };
  await db
    .insert(nodeInventory)
    .values({ nodeUuid: found.nodeUuid, ...change })
    .onConflictDoUpdate({ target: nodeInventory.nodeUuid, set: { ...change, collectedAt: sql`now()` } });
}

/** Keeps what rules have made of it. */
export async function updatePluginData(db: Queryable, nodeUuid: string, pluginData: JsonObject): Promise<void> {
  await db
    .update(nodeInventory)
    .set({ pluginData: storableJson(pluginData) })
    .where(eq(nodeInventory.nodeUuid, nodeUuid));
}

/**
 * Keeps an inventory that nobody has asked for, and what it does not have any more: a disk that is dead or was pulled out
 * may hold data, and only an inspection, or its return, ends the memory of it.
 */
export async function refreshInventory(
  tx: Transaction,
  { nodeUuid, inventory }: { readonly nodeUuid: string; readonly inventory: JsonObject },
): Promise<void> {
  const [before] = await tx.select().from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid)).for('update');
  const change = {
    inventory: storableJson(inventory),
    missingDisks: before ? storableJson(missingDisks(before, inventory)) : [],
  };
  await tx
    .insert(nodeInventory)
    .values({ nodeUuid, ...change })
    .onConflictDoUpdate({ target: nodeInventory.nodeUuid, set: { ...change, collectedAt: sql`now()` } });
}

/**
 * Keeps what the BMC shows, joined to what is kept. The time of the last look stays: it is the ramdisk's, and so do the disks
 * that are missing since.
 */
export async function recordShown(
  tx: Transaction,
  found: { readonly nodeUuid: string; readonly inventory: JsonObject; readonly pluginData: JsonObject },
): Promise<void> {
  const { nodeUuid } = found;
  const [before] = await tx.select().from(nodeInventory).where(eq(nodeInventory.nodeUuid, nodeUuid)).for('update');
  const change = {
    inventory: storableJson(joinInventory(before?.inventory, found.inventory)),
    pluginData: storableJson(joinPluginData(before?.pluginData, found.pluginData)),
  };
  await tx
    .insert(nodeInventory)
    .values({ nodeUuid, ...change })
    .onConflictDoUpdate({ target: nodeInventory.nodeUuid, set: change });
}

/** Returns whether a ramdisk has looked for disks. */
export function hasDisks(inventory: JsonObject): boolean {
  return Array.isArray(inventory['disks']) && !isByBmc(inventory, 'disks');
}

function missingDisks(before: NodeInventoryRow, inventory: JsonObject): readonly InventoryDisk[] {
  const marks = (reported: InventoryDisk) => ({ reported, ...marksOf(toKnownDisk(reported)) });
  const earlier = [...z.array(InventoryDisk).parse(before.missingDisks), ...disksOf(before.inventory)].map(marks);
  return matchDisks(earlier, disksOf(inventory).map(marks)).unmet.map(({ reported }) => reported);
}

function disksOf(inventory: JsonObject): readonly InventoryDisk[] {
  return reportedDisks(inventory).filter(holdsData);
}

/**
 * Reads each disk of an inventory by itself: other parts that can't be read are no reason to forget a disk. Those that the
 * BMC alone shows no ramdisk has met, and may never meet.
 */
function reportedDisks(inventory: JsonObject): readonly InventoryDisk[] {
  const { disks = null } = inventory;
  if (disks === null || isByBmc(inventory, 'disks')) return [];
  return (Array.isArray(disks) ? disks : [disks]).map((disk) => InventoryDisk.safeParse(disk).data ?? unreadDisk(disk));
}

/** A disk whose entry can't be read as it is: no other is met in its place, but for one of its serial number or WWN. */
function unreadDisk(disk: unknown): InventoryDisk {
  const known = typeof disk === 'object' && disk !== null ? disk : {};
  return InventoryDisk.parse({ ...known, name: 'a disk without a name', baton_unread: 'its entry has no name' });
}

/**
 * Checks whether a disk holds data of its own: one that reports no size any more is as good as gone, and volumes go with
 * their members.
 */
function holdsData({ name, size }: InventoryDisk): boolean {
  return size !== 0 && !isNoDisk(name) && !name.startsWith('/dev/md');
}

/** Lists the marks by which a disk of an inventory is known again. */
export function marksOf({ name, serial, serials, wwn, wwns, model, sizeBytes }: KnownDisk): DiskMarks {
  return { device: name, serial, serials, wwn, wwns, model, sizeBytes: sizeBytes === 0 ? null : sizeBytes };
}

const { baton_undriven_storage: undriven } = InventoryDocument.shape;

export interface KnownDisks {
  readonly collectedAt: Date;
  /** `undefined`: nobody has looked for disks. */
  readonly disks: readonly KnownDisk[] | undefined;
  /** All that may hold data: some of `disks`, the same objects, and those of earlier inventories that are in none since. */
  readonly toMeet: readonly KnownDisk[];
  /** Storage controllers without a driver, in words: there may be disks behind them. `null`: not known. */
  readonly undrivenStorage: readonly string[] | null;
}

/** Reads what the machine's disks were, and what was on them, when a ramdisk last looked. */
export async function latestInventory(db: Queryable, nodeUuid: string): Promise<KnownDisks | undefined> {
  const row = await findInventory(db, nodeUuid);
  if (!row) return undefined;
  const known = reportedDisks(row.inventory).map((reported) => ({ reported, disk: toKnownDisk(reported) }));
  const missing = z.array(InventoryDisk).parse(row.missingDisks).map(toKnownDisk);
  return {
    collectedAt: row.collectedAt,
    disks: hasDisks(row.inventory) ? known.map(({ disk }) => disk) : undefined,
    undrivenStorage: undriven.parse(row.inventory['baton_undriven_storage']) ?? null,
    toMeet: [...known.filter(({ reported }) => holdsData(reported)).map(({ disk }) => disk), ...missing],
  };
}
