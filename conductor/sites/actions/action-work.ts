import { eq, sql } from 'drizzle-orm';
import { type ActionLease, type ActionWish, holdAction, readWish } from '#conductor/flows/actions/action-lease.ts';
import { readPausedMs } from '#conductor/flows/actions/action-store.ts';
import type { Bell } from '#conductor/kernel/bell.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { type SiteActionRow, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { Note } from '#conductor/sites/actions/note-store.ts';
import type { SiteHands } from '#conductor/sites/actions/site-hands.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { Site } from '#conductor/sites/site.ts';
import { type ErrorCode, errorCode } from '#shared/errors/app-error.ts';

/** A claimed action under way, as its steps see it. */
export interface ActionWork {
  /** Whose calls to hardware end with the lease. */
  readonly context: SitesContext;
  readonly hands: SiteHands;
  /** As it was when it was claimed. */
  readonly action: SiteActionRow;
  readonly lease: ActionLease;
  /** Aborts when the lease is lost, or the conductor stops. */
  readonly signal: AbortSignal;
  /** The database's time; milliseconds since 1970. */
  readonly now: () => number;
  readonly bell: Bell;
  /** Of the action's revision; read once. */
  readonly site: () => Promise<Site>;
}

/** How a step has ended; all of it is recorded in one transaction, with what the step has to write itself. */
export interface StepEnd {
  readonly state: 'done' | 'failed' | 'skipped';
  readonly error?: string;
  readonly notes?: readonly Note[];
  readonly write?: (tx: Transaction) => Promise<void>;
}

/**
 * Writes in one transaction, as long as the lease is held.
 * @param write is told what the operator wants of the action at that moment
 * @throws AppError `lease_lost`
 */
export async function record<Result>(
  { context, lease, signal }: Pick<ActionWork, 'context' | 'lease' | 'signal'>,
  write: (tx: Transaction, wish: ActionWish) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const result = await context.db.transaction(async (tx) => write(tx, await holdAction(tx, lease)));
  context.checkpoint('recorded');
  return result;
}

const stateOf = { run: 'running', pause: 'paused', stop: 'stopping' } as const;

/** Whether the action's row says yet that the operator's wish is followed. */
export function isFollowed({ wanted, state }: ActionWish): boolean {
  return state === stateOf[wanted];
}

/** Has the row say that the operator's wish is followed. @returns how long the pause has lasted that ends with it; ms */
export async function followWish(tx: Transaction, { actionId }: ActionLease, wish: ActionWish): Promise<number> {
  if (isFollowed(wish)) return 0;
  const pausedMs = await readPausedMs(tx, actionId);
  const pausedAt = wish.wanted === 'pause' ? sql`now()` : null;
  await tx.update(siteActions).set({ state: stateOf[wish.wanted], pausedAt }).where(eq(siteActions.id, actionId));
  return pausedMs;
}

/** Where nothing is under way: follows the operator's wish, and waits for as long as it is a pause. */
export async function awaitGo(work: ActionWork): Promise<'run' | 'stop'> {
  const { context, lease, bell, signal } = work;
  for (;;) {
    let wish = await readWish(context.db, lease);
    if (!isFollowed(wish)) {
      wish = await record(work, async (tx, current) => {
        await followWish(tx, lease, current);
        return current;
      });
    }
    if (wish.wanted !== 'pause') return wish.wanted;
    await bell.rest(context.config.reconcileIntervalMs, signal);
  }
}

const lasting: ReadonlySet<ErrorCode> = new Set(['invalid_argument', 'not_supported', 'not_found', 'conflict']);

/** Whether trying again does not mend it. */
export function isLasting(error: unknown): boolean {
  return lasting.has(errorCode(error));
}

/** Reads a claimed action's documents once, and answers them from memory then. */
export function siteReader(
  context: SitesContext,
  { hands, revisionId }: { readonly hands: SiteHands; readonly revisionId: number },
): () => Promise<Site> {
  const state: { site?: Site } = {};
  return async () => {
    state.site ??= await hands.readRevision(context, revisionId);
    return state.site;
  };
}
