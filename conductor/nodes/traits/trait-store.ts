import { and, eq } from 'drizzle-orm';
import { isAmong } from '#conductor/kernel/db/is-among.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTraits } from '#conductor/kernel/db/schema/node-parts.ts';

/** Traits of each node that has any, sorted. */
export async function listTraits(db: Queryable, nodeUuids: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await db
    .select()
    .from(nodeTraits)
    .where(isAmong(nodeTraits.nodeUuid, nodeUuids))
    .orderBy(nodeTraits.trait);
  const byNode = new Map<string, string[]>();
  for (const row of rows) byNode.set(row.nodeUuid, [...(byNode.get(row.nodeUuid) ?? []), row.trait]);
  return byNode;
}

/** Who follows the fleet finds changes by when a node's row was written. */
async function touchNode(db: Queryable, nodeUuid: string): Promise<void> {
  await db.update(nodes).set({ uuid: nodeUuid }).where(eq(nodes.uuid, nodeUuid));
}

/** Adding one that is there already changes nothing. */
export async function addTraits(db: Queryable, nodeUuid: string, traits: readonly string[]): Promise<void> {
  if (traits.length === 0) return;
  await db
    .insert(nodeTraits)
    .values(traits.map((trait) => ({ nodeUuid, trait })))
    .onConflictDoNothing();
  await touchNode(db, nodeUuid);
}

export async function replaceTraits(tx: Transaction, nodeUuid: string, traits: readonly string[]): Promise<void> {
  await deleteTraits(tx, nodeUuid);
  await addTraits(tx, nodeUuid, traits);
}

/** `false` when the node does not have it. */
export async function deleteTrait(db: Queryable, nodeUuid: string, trait: string): Promise<boolean> {
  const rows = await db
    .delete(nodeTraits)
    .where(and(eq(nodeTraits.nodeUuid, nodeUuid), eq(nodeTraits.trait, trait)))
    .returning({ trait: nodeTraits.trait });
  await touchNode(db, nodeUuid);
  return rows.length > 0;
}

export async function deleteTraits(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(nodeTraits).where(eq(nodeTraits.nodeUuid, nodeUuid));
  await touchNode(db, nodeUuid);
}
