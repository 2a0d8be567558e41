import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { transientStates } from '#conductor/model/provision-states.ts';
import { deleteVif, insertVif, listVifs } from '#conductor/nodes/vifs/vif-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `conflict` when another network is attached, or the node is in use. */
export async function attachVif(tx: Transaction, node: NodeRow, vifId: string): Promise<void> {
  if (node.networkInterface === 'noop') return;
  requireNotInUse(node, `attach VIF ${vifId} to`);
  if (await insertVif(tx, node.uuid, vifId)) return;
  const [attached] = await listVifs(tx, node.uuid);
  throw new AppError(
    'conflict',
    attached === vifId
      ? `Unable to attach VIF ${vifId} to node ${node.uuid}: it is attached already.`
      : `Unable to attach VIF ${vifId} to node ${node.uuid}: all its switch ports are on one network, and ${attached} is attached. Detach that first.`,
  );
}

/** @throws AppError `invalid_argument` when it is not attached, `conflict` while the node is in use. */
export async function detachVif(tx: Transaction, node: NodeRow, vifId: string): Promise<void> {
  if (node.networkInterface === 'noop') return;
  requireNotInUse(node, `detach VIF ${vifId} from`);
  if (await deleteVif(tx, node.uuid, vifId)) return;
  throw new AppError(
    'invalid_argument',
    `Unable to detach VIF ${vifId} from node ${node.uuid}: it is not attached to it.`,
  );
}

/** VIFs are read when a flow moves switch ports: what is written at any other time would claim what was not done. */
function requireNotInUse(node: NodeRow, doing: string): void {
  const rests = node.targetProvisionState === null && !transientStates.has(node.provisionState);
  if (rests && node.provisionState !== 'active') return;
  throw new AppError(
    'conflict',
    `Unable to ${doing} node ${node.uuid} while it is in '${node.provisionState}': ` +
      'a network is attached before a deploy, and tear-down detaches it.',
  );
}
