import { and, eq, inArray, isNotNull, isNull, lte, sql } from 'drizzle-orm';
import {
  type ActionControl,
  type SiteAction,
  selectActions,
  selectControl,
} from '#conductor/flows/site-actions/action-store.ts';
import { prolongRun } from '#conductor/flows/site-actions/run-store.ts';
import { workKnown } from '#conductor/kernel/conductors/conductor-store.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { type Claim, type Held, isFree, leasesOn } from '#conductor/kernel/lease.ts';
import { heldByRestore, requestOf } from '#conductor/model/flows/flow-states.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
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
/** Expiry of a lease that nobody holds: when the last conductor released it. */
export const { keep: keepAction, release: releaseAction, releaseStale: releaseStaleActions } = leases;

export interface ClaimedAction {
  readonly lease: ActionLease;
  readonly action: SiteAction;
  /** The holder whose lease had run out: it died, or was away for too long. */
  readonly takenFrom?: string;
  /** The database's time of the claim; milliseconds since 1970. */
  readonly claimedAtMs: number;
}

/**
 * Claims the open action of this sort, if there is one that nobody runs and that this release knows. A release that does not look at
 * `needs` writes no `fit_token`, and the database refuses its claim (`claimed_by_who_knows`). The time that nobody ran it counts for no limit.
 */
export function claimAction(
  db: Queryable,
  claim: Claim,
  sort: readonly ActionName[],
): Promise<ClaimedAction | undefined> {
  return db.transaction((tx) => claimIn(tx, claim, sort));
}

async function claimIn(tx: Transaction, claim: Claim, sort: readonly ActionName[]): Promise<ClaimedAction | undefined> {
  // what is not known here is left to conductors of a newer release
  const isKnown = and(lte(siteActions.needs, workKnown), inArray(flows.kind, [...sort]));
  const isOpen = and(isNull(flows.endedAt), isFree(siteActions), isKnown);
  const [action] = await selectActions(tx).where(isOpen).for('update');
  if (!action) return undefined;
  const idle = sql<number>`coalesce(extract(epoch from now() - ${siteActions.expiresAt}) * 1000, 0)::float8`;
  const [{ idleMs } = { idleMs: 0 }] = await tx
    .select({ idleMs: idle })
    .from(siteActions)
    .where(eq(siteActions.id, action.id));
  const [claimed] = await tx
    .update(siteActions)
    .set({ ...leases.claimed(claim), fitToken: sql`${siteActions.token} + 1` })
    .where(eq(siteActions.id, action.id))
    .returning({ holder: siteActions.holder, token: siteActions.token, expiresAt: siteActions.expiresAt });
  if (!claimed?.expiresAt) return undefined;
  // the time for which it is held counts for no limit either, once that ends: not twice
  if (action.heldSince === null && idleMs > 0) await prolongRun(tx, action.id, idleMs);
  return {
    lease: { actionId: action.id, holder: claim.holder, token: claimed.token },
    action: { ...action, ...claimed },
    claimedAtMs: claimed.expiresAt.getTime() - claim.leaseMs,
    ...(action.holder === null ? {} : { takenFrom: action.holder }),
  };
}

/** @throws AppError `lease_lost` when another conductor has claimed it since. */
export async function readClaimed(db: Queryable, lease: ActionLease): Promise<ActionControl> {
  const [row] = await selectControl(db).where(leases.isHeld(lease));
  return row ?? leases.lost(lease);
}

/**
 * The same, and locks the action and its flow, so that whatever the transaction records is fenced.
 * @throws AppError `lease_lost` when another conductor has claimed the action since.
 */
export async function holdAction(tx: Transaction, lease: ActionLease): Promise<ActionControl> {
  const [row] = await selectControl(tx).where(leases.isHeld(lease)).for('update');
  return row ?? leases.lost(lease);
}

/**
 * Has an action stay under its lease until the transaction ends: what is begun for it is begun for one that goes on, and
 * by whom it belongs to.
 * @param isTeardown an act that is not begun once a pause or a stop has been accepted, though the one who decided on it had not
 * heard of that yet
 * @throws AppError `lease_lost` when it has ended, or another conductor has claimed it since; `conflict` (retryable) for
 * an act of a teardown while it is paused or stopped, and any after a restore.
 */
export async function requireAction(
  tx: Transaction,
  { actionId, token, isTeardown }: Pick<ActionLease, 'actionId' | 'token'> & { readonly isTeardown: boolean },
): Promise<void> {
  const isOurs = and(eq(siteActions.id, actionId), eq(siteActions.token, token), isNull(flows.endedAt));
  const [action] = await selectControl(tx).where(isOurs).for('share');
  if (!action) {
    throw new AppError('lease_lost', `site action ${actionId} has ended, or was taken over by another conductor`);
  }
  const request = requestOf(action);
  if (request !== 'run' && (isTeardown || action.held === heldByRestore)) {
    throw new AppError('conflict', `site action ${actionId} is ${requestWords[request]}`, { retryable: true });
  }
}

const requestWords = { hold: 'paused', abort: 'stopped' } as const;

/**
 * Why the wipe after a release is not begun for an action: stays so until the transaction ends. What the operator wants is
 * not enough, for an action that has failed, or has given this node up, wanted it to go on to the last.
 * @returns `is paused`; `undefined` = it goes on
 */
export async function whyNotToWipe(
  tx: Transaction,
  { actionId, nodeName }: { readonly actionId: string; readonly nodeName: string | null },
): Promise<string | undefined> {
  const [action] = await selectControl(tx).where(eq(siteActions.id, actionId)).for('share');
  // forgotten ones have ended long ago
  if (!action || action.endedAt !== null) return 'has ended';
  const request = requestOf(action);
  // of any other action a pause lets the phase end, to which cleaning, or the wipe in its place, belongs
  if (request === 'abort' || (request === 'hold' && (isTeardownAction(action.name) || action.held === heldByRestore)))
    return `is ${requestWords[request]}`;
  const ofNode = and(eq(siteActionNodes.actionId, actionId), eq(siteActionNodes.name, nodeName ?? ''));
  const isAtWork = and(isNotNull(siteActionNodes.phase), isNull(siteActionNodes.cancelling));
  const atWork = await tx.select({ name: siteActionNodes.name }).from(siteActionNodes).where(and(ofNode, isAtWork));
  return atWork.length > 0 ? undefined : 'has given the node up';
}

/** Recognizes actions that tear nodes down; one that this release does not know may be one. */
function isTeardownAction(name: ActionName): boolean {
  return !Object.hasOwn(actionTable, name) || actionTable[name].teardown !== undefined;
}
