import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * For whoever may work on nobody's nodes alone: looked at under the row's lock, since a node may be given away at any time.
 * @throws AppError `conflict` naming whose it is
 */
export function requireUnowned({ uuid, owner, lessee }: Pick<NodeRow, 'uuid' | 'owner' | 'lessee'>): void {
  if (owner !== null) throw new AppError('conflict', `node ${uuid} belongs to ${owner}`);
  if (lessee !== null) throw new AppError('conflict', `node ${uuid} is leased to ${lessee}`);
}
