import { and, eq } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { nodeVifs } from '#conductor/kernel/db/schema/node-parts.ts';
import { rowsBy } from '#conductor/kernel/db/table-reader.ts';
import { deleteBy } from '#conductor/kernel/db/table-writer.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In the order of their attachment. */
export async function listVifs(db: Queryable, nodeUuid: string): Promise<Vif[]> {
  const rows = await vifsOf(db, nodeUuid);
  return rows.map(({ vifId, portUuid, portgroupUuid }) => ({ id: vifId, portUuid, portgroupUuid }));
}

const vifsOf = rowsBy(nodeVifs, 'nodeUuid', 'id');

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
export const deleteVifs = deleteBy(nodeVifs, 'nodeUuid');

/** @throws AppError `conflict` for a port or port group that a VIF was attached to by name. */
export async function requireNoVif(tx: Transaction, nodeUuid: string, uuid: string): Promise<void> {
  const vif = (await listVifs(tx, nodeUuid)).find((each) => each.portUuid === uuid || each.portgroupUuid === uuid);
  if (!vif) return;
  throw new AppError('conflict', `VIF ${vif.id} is attached to ${uuid}: detach it first.`);
}
