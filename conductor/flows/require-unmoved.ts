import { findLatestFlow } from '#conductor/flows/flow-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The node as it was when a request was decided. */
export interface SeenNode {
  readonly node: Pick<NodeRow, 'provisionState' | 'provisionUpdatedAt'>;
  /** The open flow, or else the last one. */
  readonly flow?: Pick<FlowRow, 'uuid' | 'state'> | undefined;
}

/**
 * Compare-and-set for a request that was decided from what was read earlier: most verbs are legal in several states, and
 * two who decide the same at once would have the slower one act on what the faster one has finished.
 * @param tx has locked the node's row, of which `current` was read
 * @param seen absent = the request holds for the node as it is now
 * @throws AppError `conflict` when the node has changed state, or its flow has, since
 */
export async function requireUnmoved(tx: Transaction, current: NodeRow, seen: SeenNode | undefined): Promise<void> {
  if (!seen) return;
  const flow = await findLatestFlow(tx, current.uuid);
  const isSame =
    seen.node.provisionState === current.provisionState &&
    seen.node.provisionUpdatedAt.getTime() === current.provisionUpdatedAt.getTime() &&
    seen.flow?.uuid === flow?.uuid &&
    seen.flow?.state === flow?.state;
  if (!isSame) {
    throw new AppError('conflict', `node ${current.uuid} has moved on since this was decided: look at it again`);
  }
}
