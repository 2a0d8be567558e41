import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Refuses a protected node, which may be neither torn down, nor rebuilt, nor forgotten: protection guards the data on its
 * disks.
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

/**
 * Refuses a node with an owner or lessee to callers who may work on some nodes only. It is judged under the row's lock,
 * since a node may be given away at any time.
 * @throws AppError `conflict` naming owner or lessee
 */
export function requireUnowned({ uuid, owner, lessee }: Pick<NodeRow, 'uuid' | 'owner' | 'lessee'>): void {
  if (owner !== null) throw new AppError('conflict', `node ${uuid} belongs to ${owner}`);
  if (lessee !== null) throw new AppError('conflict', `node ${uuid} is leased to ${lessee}`);
}

/** Ironic's states in which a port's connection may change, and those of no instance besides. */
const rewirableStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'enroll',
  'manageable',
  'available',
  'inspecting',
  'inspect wait',
  'inspect failed',
]);

/**
 * The machine's address and switch port are how a flow reaches it, and how tear-down takes it off its tenant's network:
 * a port that is changed in between would leave its switch port there.
 * @throws AppError `conflict` naming the states in which it is possible.
 */
export function requireNotInUse(
  node: NodeRow,
  what: 'port' | 'port group',
  verb: 'created' | 'changed' | 'deleted',
): void {
  if (node.maintenance || rewirableStates.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `A ${what} of node ${node.uuid} can not be ${verb} while the node is in '${node.provisionState}'. ` +
      `Possible in: ${[...rewirableStates].join(', ')}, or any state in maintenance.`,
  );
}
