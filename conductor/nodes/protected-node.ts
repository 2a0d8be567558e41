import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Protection guards what is on the node's disks: it may be neither torn down, nor rebuilt, nor forgotten.
 * @throws AppError `forbidden` in Ironic's words (NodeProtected).
 */
export function requireUnprotected(node: Pick<NodeRow, 'uuid' | 'protected' | 'protectedReason'>): void {
  if (!node.protected) return;
  const reason = node.protectedReason ? `: ${node.protectedReason}` : '';
  throw new AppError(
    'forbidden',
    `Node ${node.uuid} is protected and cannot be undeployed, rebuilt or deleted${reason}.`,
  );
}
