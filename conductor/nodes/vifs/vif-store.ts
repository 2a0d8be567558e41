import { and, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeVifs } from '#conductor/kernel/db/schema/node-vif.ts';

/** The node's VIF ids: none, or one, which is the name of its tenant network. */
export async function listVifs(db: Queryable, nodeUuid: string): Promise<string[]> {
  const rows = await db
    .select({ vifId: nodeVifs.vifId })
    .from(nodeVifs)
    .where(eq(nodeVifs.nodeUuid, nodeUuid))
    .orderBy(nodeVifs.id);
  return rows.map((row) => row.vifId);
}

/** `false` when the node has one already. */
export async function insertVif(db: Queryable, nodeUuid: string, vifId: string): Promise<boolean> {
  const rows = await db
    .insert(nodeVifs)
    .values({ nodeUuid, vifId })
    .onConflictDoNothing()
    .returning({ id: nodeVifs.id });
  return rows.length > 0;
}

/** `false` when the node does not have it. */
export async function deleteVif(db: Queryable, nodeUuid: string, vifId: string): Promise<boolean> {
  const rows = await db
    .delete(nodeVifs)
    .where(and(eq(nodeVifs.nodeUuid, nodeUuid), eq(nodeVifs.vifId, vifId)))
    .returning({ id: nodeVifs.id });
  return rows.length > 0;
}

/** Tear-down: the instance takes its network with it. */
export async function deleteVifs(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(nodeVifs).where(eq(nodeVifs.nodeUuid, nodeUuid));
}
