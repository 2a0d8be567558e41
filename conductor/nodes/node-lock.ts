import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { moment } from '#conductor/kernel/lease.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { claimLease, keepLease, leaseHolder, releaseLease, touchLease } from '#conductor/nodes/node-lease.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In Ironic's words, which clients match on; they try again by themselves. */
function nodeLocked(nodeUuid: string, holder: string): AppError {
  return new AppError(
    'node_locked',
    `Node ${nodeUuid} is locked by host ${holder}, please retry after the current operation is completed.`,
  );
}

/**
 * Keeps every conductor off the node until the caller's transaction ends: the lease row stays locked, and a claim that
 * comes meanwhile waits and then sees what was written. Only reading the lease would let a worker claim it in between.
 * @throws AppError `node_locked` while a conductor works on the node.
 */
export async function requireUnlocked(tx: Transaction, nodeUuid: string): Promise<void> {
  if (!(await touchLease(tx, nodeUuid))) {
    throw nodeLocked(nodeUuid, (await leaseHolder(tx, nodeUuid)) ?? 'another conductor');
  }
}

/** The same where nothing is changed yet. @throws AppError `node_locked` while a conductor works on the node. */
export async function requireUnreserved(db: Queryable, nodeUuid: string): Promise<void> {
  const holder = await leaseHolder(db, nodeUuid);
  if (holder !== undefined) throw nodeLocked(nodeUuid, holder);
}

/**
 * Acts on the node's BMC for an operator, alone; `signal` aborts when the lock is lost.
 * @throws AppError `node_locked` while a conductor works on the node.
 */
export async function withNodeLock<Result>(
  context: Pick<NodesContext, 'db' | 'config' | 'log'>,
  nodeUuid: string,
  act: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { db, config } = context;
  const claimedAt = moment();
  const lease = await claimLease(db, nodeUuid, { holder: config.conductorName, leaseMs: config.leaseMs });
  if (!lease) throw nodeLocked(nodeUuid, (await leaseHolder(db, nodeUuid)) ?? 'another conductor');
  const kept = keepLease(context, lease, claimedAt);
  try {
    return await act(kept.signal);
  } finally {
    kept.stop();
    await releaseLease(db, lease);
  }
}
