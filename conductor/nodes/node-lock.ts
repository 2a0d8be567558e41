import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { readMoment } from '#conductor/kernel/lease.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { type ChangeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import {
  claimLease,
  keepLease,
  leaseHolder,
  releaseLease,
  seizeLease,
  touchLease,
} from '#conductor/nodes/node-lease.ts';
import { lockNode } from '#conductor/nodes/node-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

/** Makes the refusal in Ironic's words, which clients match on; they try again by themselves. */
export function nodeLocked(nodeUuid: string, holder: string): AppError {
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

/**
 * Acts on the node's BMC for an operator, under the node's lease; `signal` aborts when the lock is lost.
 * @throws AppError `node_locked` while a conductor works on the node.
 */
export async function withNodeLock<Result>(
  context: Pick<NodesContext, 'db' | 'database' | 'config' | 'log'>,
  nodeUuid: string,
  act: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const { db, config } = context;
  const claimedAt = readMoment();
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

/**
 * Tries for an operator, because something may hold a node for moments only: two seconds, as in Ironic (ironic-api.md
 * §3.3). Ironic looks three times; a conductor amid a flow would often hold the node again at just these moments.
 */
const attempts = 21;
const tryMs = 100;

/**
 * An operator's change of a node, in one transaction that keeps every conductor off until it ends. `change` gets the
 * row as it then is, and runs again from the start when the node was locked. It must use nothing but its transaction:
 * what asks for a second connection while it holds one may wait for ever, once all do so.
 * @throws AppError `node_locked` when it still is after two seconds, `not_found`, whatever `change` throws.
 */
export function changeUnlocked<Result, Read = undefined>(
  context: Pick<NodesContext, 'db' | 'clock'>,
  nodeUuid: string,
  change: (tx: Transaction, node: NodeRow, read: Read) => Promise<Result>,
  /** Goes into the node's history along with it, if it has changed anything; absent for changes that write their own entry. */
  note?: ChangeNote | ((result: Result) => ChangeNote | undefined),
  /** Reads what else `change` gets, by one statement with the node. */
  read?: (tx: Transaction) => Promise<Read>,
  /** Takes the node from a conductor that works on it. @returns false: what works on it must not be broken off */
  seizes?: (node: NodeRow, read: Read) => boolean,
): Promise<Result> {
  const changeOnce = (): Promise<Result> =>
    context.db.transaction(async (tx) => {
      // lease before row, the order in which conductors lock them
      const holder = seizes ? await leaseHolder(tx, nodeUuid) : undefined;
      const unlocked = holder === undefined ? requireUnlocked(tx, nodeUuid) : seizeLease(tx, nodeUuid);
      // a node that is gone has no lease that could be free: its `not_found` comes first
      const [node, , found] = await allTogether([
        lockNode(tx, nodeUuid),
        unlocked,
        read?.(tx) ?? Promise.resolve(undefined as Read),
      ]);
      if (holder !== undefined && seizes?.(node, found) !== true) throw nodeLocked(nodeUuid, holder);
      const result = await change(tx, node, found);
      const noted = typeof note === 'function' ? note(result) : note;
      if (noted) await writeChangeNote(tx, nodeUuid, noted);
      return result;
    });
  const passes = (error: unknown): boolean => errorCode(error) === 'node_locked';
  return retry(changeOnce, { clock: context.clock, attempts, passes, delayMs: () => tryMs });
}
