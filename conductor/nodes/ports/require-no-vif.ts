import type { Transaction } from '#conductor/kernel/db/open.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `conflict` for a port or port group that a VIF was attached to by name. */
export async function requireNoVif(tx: Transaction, nodeUuid: string, uuid: string): Promise<void> {
  const vif = (await listVifs(tx, nodeUuid)).find((each) => each.portUuid === uuid || each.portgroupUuid === uuid);
  if (!vif) return;
  throw new AppError('conflict', `VIF ${vif.id} is attached to ${uuid}: detach it first.`);
}
