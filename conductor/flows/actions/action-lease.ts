import { and, eq, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import { prolongRun } from '#conductor/flows/actions/run-store.ts';
import { workKnown } from '#conductor/kernel/conductors/work-known.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type SiteActionRow, siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { type Claim, type Held, isFree, leasesOn } from '#conductor/kernel/lease.ts';
import { actionTable } from '#conductor/model/action-table.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The right to run one site action for a while. */
export interface ActionLease extends Held {
  readonly actionId: string;
}

const leases = leasesOn<ActionLease>(siteActions, {
  kind: 'site action',
  logKey: 'action',
  key: siteActions.id,
  keyOf: ({ actionId }) => actionId,
});
/** The expiry of what nobody holds says since when. */
export const { keep: keepAction, release: releaseAction, releaseStale: releaseStaleActions } = leases;

export interface ClaimedAction {
  readonly lease: ActionLease;
  readonly action: SiteActionRow;
  /** Whose lease had run out: somebody died, or was away for too long. */
  readonly takenFrom?: string;
  /** The database's time of the claim; milliseconds since 1970. */
  readonly claimedAtMs: number;
}

/** What the operator wants of an action, and how far it has gone, as the row has it now. */
export type ActionWish = Pick<SiteActionRow, 'wanted' | 'state'>;

/**
 * Claims the open action, if there is one that nobody runs and that this release knows. A release that does not look at
 * `needs` writes no `fit_token`, and the database refuses its claim (`claimed_by_who_knows`). The time that nobody ran it counts for no limit.
 */
export function claimAction(db: Queryable, claim: Claim): Promise<ClaimedAction | undefined> {
  return db.transaction((tx) => claimIn(tx, claim));
}

async function claimIn(db: Transaction, claim: Claim): Promise<ClaimedAction | undefined> {
  const isOpen = and(
    isNull(siteActions.endedAt),
    isFree(siteActions),
    // what is not known here is left to conductors of a newer release
    lte(siteActions.needs, workKnown),
  );
  const [found] = await db
    .select({
      id: siteActions.id,
      holder: siteActions.holder,
      token: siteActions.token,
      idleMs: sql<number>`coalesce(extract(epoch from now() - ${siteActions.expiresAt}) * 1000, 0)::float8`,
    })
    .from(siteActions)
    .where(isOpen);
  if (!found) return undefined;
  const claimed = await db
    .update(siteActions)
    .set({
      ...leases.claimed(claim),
      fitToken: sql`${siteActions.token} + 1`,
      startedAt: sql`coalesce(${siteActions.startedAt}, now())`,
    })
    // as it was found: of two that come at once one gets it
    .where(and(eq(siteActions.id, found.id), eq(siteActions.token, found.token), isOpen))
    .returning();
  const [action] = claimed;
  if (!action?.expiresAt) return undefined;
  // a pause counts for no limit either, once it ends: not twice
  if (action.pausedAt === null && found.idleMs > 0) await prolongRun(db, action.id, found.idleMs);
  return {
    lease: { actionId: action.id, holder: claim.holder, token: action.token },
    action,
    claimedAtMs: action.expiresAt.getTime() - claim.leaseMs,
    ...(found.holder === null ? {} : { takenFrom: found.holder }),
  };
}

/** @throws AppError `lease_lost` when another conductor has claimed the action since. */
export async function readWish(db: Queryable, lease: ActionLease): Promise<ActionWish> {
  const [row] = await db
    .select({ wanted: siteActions.wanted, state: siteActions.state })
    .from(siteActions)
    .where(leases.isHeld(lease));
  return row ?? leases.lost(lease);
}

/**
 * Locks the action's row, so that whatever the transaction records is fenced.
 * @throws AppError `lease_lost` when another conductor has claimed the action since.
 */
export async function holdAction(tx: Transaction, lease: ActionLease): Promise<ActionWish> {
  const [row] = await tx
    .select({ wanted: siteActions.wanted, state: siteActions.state })
    .from(siteActions)
    .where(leases.isHeld(lease))
    .for('update');
  return row ?? leases.lost(lease);
}

/**
 * Has an action stay under its lease until the transaction ends: what is begun for it is begun for one that goes on, and
 * by whom it belongs to.
 * @param isTeardown an act that is not begun once a pause or a stop has been accepted, though whoever decided on it had not
 * heard of that yet
 * @throws AppError `lease_lost` when it has ended, or another conductor has claimed it since; `conflict` (retryable) for
 * an act of a teardown while it is paused or stopped.
 */
export async function requireAction(
  tx: Transaction,
  { actionId, token, isTeardown }: Pick<ActionLease, 'actionId' | 'token'> & { readonly isTeardown: boolean },
): Promise<void> {
  const isOurs = and(eq(siteActions.id, actionId), eq(siteActions.token, token), isNull(siteActions.endedAt));
  const [row] = await tx.select({ wanted: siteActions.wanted }).from(siteActions).where(isOurs).for('share');
  if (!row) {
    throw new AppError('lease_lost', `site action ${actionId} has ended, or was taken over by another conductor`);
  }
  if (isTeardown && row.wanted !== 'run') {
    const is = row.wanted === 'pause' ? 'paused' : 'stopped';
    throw new AppError('conflict', `site action ${actionId} is ${is}`, { retryable: true });
  }
}

/**
 * Why the wipe after a release is not begun for an action: stays so until the transaction ends. What the operator wants is
 * not enough, for an action that has failed, or has given this node up, wanted it to go on to the last.
 * @returns `is paused`; `undefined` = it goes on
 */
export async function whyNotToWipe(
  tx: Transaction,
  { actionId, nodeName }: { readonly actionId: string; readonly nodeName: string | null },
): Promise<string | undefined> {
  const isIt = eq(siteActions.id, actionId);
  const { name, wanted, endedAt } = siteActions;
  const [action] = await tx.select({ name, wanted, endedAt }).from(siteActions).where(isIt).for('share');
  // forgotten ones have ended long ago
  if (!action || action.endedAt !== null) return 'has ended';
  if (action.wanted === 'stop') return 'is stopped';
  // of any other action a pause lets the phase end, to which cleaning, or the wipe in its place, belongs
  if (action.wanted === 'pause' && isTeardownAction(action.name)) return 'is paused';
  const ofNode = and(eq(siteActionNodes.actionId, actionId), eq(siteActionNodes.name, nodeName ?? ''));
  const isAtWork = and(isNotNull(siteActionNodes.phase), isNull(siteActionNodes.cancelling));
  const atWork = await tx.select({ name: siteActionNodes.name }).from(siteActionNodes).where(and(ofNode, isAtWork));
  return atWork.length > 0 ? undefined : 'has given the node up';
}

/** What this release does not know may be one. */
function isTeardownAction(name: SiteActionRow['name']): boolean {
  return !Object.hasOwn(actionTable, name) || actionTable[name].teardown !== undefined;
}
