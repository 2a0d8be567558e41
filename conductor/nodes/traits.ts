import { and, eq } from 'drizzle-orm';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTraits } from '#conductor/kernel/db/schema/node-parts.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { changeNote } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';

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

/** The fleet watch finds changes by when a node's row was written. */
async function touchNode(db: Queryable, nodeUuid: string): Promise<void> {
  await db.update(nodes).set({ uuid: nodeUuid }).where(eq(nodes.uuid, nodeUuid));
}

/** Adds traits; one that is there already changes nothing. */
export async function addTraits(db: Queryable, nodeUuid: string, traits: readonly string[]): Promise<void> {
  if (traits.length === 0) return;
  await db
    .insert(nodeTraits)
    .values(traits.map((trait) => ({ nodeUuid, trait })))
    .onConflictDoNothing();
  await touchNode(db, nodeUuid);
}

async function replaceTraits(tx: Transaction, nodeUuid: string, traits: readonly string[]): Promise<void> {
  await deleteTraits(tx, nodeUuid);
  await addTraits(tx, nodeUuid, traits);
}

/** Deletes a trait; `false` when the node does not have it. */
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

type TraitContext = Pick<NodesContext, 'db' | 'clock' | 'config'>;

/**
 * A change of a node's traits, with its line of history if it is one; allocations that wait for such a node are notified.
 * @throws AppError `node_locked`, whatever `write` throws.
 */
export async function changeTraits(
  context: TraitContext,
  nodeUuid: string,
  { event, caller }: { readonly event: string; readonly caller: Caller },
  write: (tx: Transaction, nodeUuid: string) => Promise<void>,
): Promise<void> {
  await changeUnlocked(
    context,
    nodeUuid,
    async (tx) => {
      const before = await listTraits(tx, [nodeUuid]);
      await write(tx, nodeUuid);
      const after = await listTraits(tx, [nodeUuid]);
      if (String(before.get(nodeUuid)) === String(after.get(nodeUuid))) return undefined;
      await notifyCapacity(tx, nodeUuid);
      return changeNote(context, caller, event);
    },
    (note) => note,
  );
}

/** Serves `PUT /v1/nodes/{node}/traits`: the node has these and no others. @throws AppError `node_locked`. */
export function setTraits(
  context: TraitContext,
  nodeUuid: string,
  traits: readonly string[],
  caller: Caller,
): Promise<void> {
  const event = `traits set: ${traits.join(', ') || 'none'}`;
  return changeTraits(context, nodeUuid, { event, caller }, (tx) => replaceTraits(tx, nodeUuid, traits));
}
