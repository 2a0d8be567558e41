import { and, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodeVifs } from '#conductor/kernel/db/schema/node-vif.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';

/** In the order of their attachment. */
export function listVifs(db: Queryable, nodeUuid: string): Promise<Vif[]> {
  const { vifId, portUuid, portgroupUuid } = nodeVifs;
  const selected = db.select({ id: vifId, portUuid, portgroupUuid }).from(nodeVifs);
  return selected.where(eq(nodeVifs.nodeUuid, nodeUuid)).orderBy(nodeVifs.id);
}

export async function insertVif(db: Queryable, nodeUuid: string, { id, ...place }: Vif): Promise<void> {
  await db.insert(nodeVifs).values({ nodeUuid, vifId: id, ...place });
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
