import { updateFlow } from '#conductor/flows/log/flow-store.ts';
import { type ActionLease, holdAction, readClaimed } from '#conductor/flows/site-actions/action-lease.ts';
import { type ActionControl, getAction, type SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { Bell } from '#conductor/kernel/wake-loop.ts';
import { requestOf } from '#conductor/model/flows/flow-states.ts';
import type { Note } from '#conductor/sites/actions/action-notes.ts';
import { teardownOrder } from '#conductor/sites/actions/plan-teardown-run.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { askGate } from '#conductor/sites/gates/ask-gate.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import { findOutOfService } from '#conductor/sites/nodes/find-out-of-service.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { relabelNodes } from '#conductor/sites/nodes/relabel-nodes.ts';
import { verifyNodes } from '#conductor/sites/nodes/verify-nodes.ts';
import { checkRevision, readRevision } from '#conductor/sites/revisions/check-revision.ts';
import type { Site } from '#conductor/sites/site.ts';
import { type ErrorCode, errorCode } from '#shared/errors/app-error.ts';

/** A claimed action under way, as its steps see it. */
export interface ActionWork {
  /** The context whose calls to hardware end with the lease. */
  readonly context: SitesContext;
  readonly operations: SiteOperations;
  /** The action as it was when it was claimed. */
  readonly action: SiteAction;
  readonly lease: ActionLease;
  /** Aborts when the lease is lost, or the conductor stops. */
  readonly signal: AbortSignal;
  /** The database's time; milliseconds since 1970. */
  readonly now: () => number;
  readonly bell: Bell;
  /** Reads the site of the action's revision, once. */
  readonly site: () => Promise<Site>;
}

/** How a step has ended; all of it is recorded in one transaction, with what the step has to write itself. */
export interface StepEnd {
  readonly event: 'succeeded' | 'failed' | 'skipped';
  readonly error?: string;
  readonly notes?: readonly Note[];
  readonly write?: (tx: Transaction) => Promise<void>;
}

/**
 * Writes in one transaction, as long as the lease is held.
 * @param write is given what the operator asks for at that moment
 * @throws AppError `lease_lost`
 */
export async function writeUnderLease<Result>(
  { context, lease, signal }: Pick<ActionWork, 'context' | 'lease' | 'signal'>,
  write: (tx: Transaction, control: ActionControl) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const result = await context.db.transaction(async (tx) => write(tx, await holdAction(tx, lease)));
  context.checkpoint('recorded');
  return result;
}

/** Whether the flow says since when it is held, or that it goes on. */
export function isFollowed({ held, heldSince }: Pick<ActionControl, 'held' | 'heldSince'>): boolean {
  return (held === null) === (heldSince === null);
}

/** Has the flow say since when it is held, or that it goes on. @returns for how long it was held until now; ms */
export async function followHold(
  { now }: Pick<ActionWork, 'now'>,
  tx: Transaction,
  control: ActionControl,
): Promise<number> {
  if (isFollowed(control)) return 0;
  const { flowUuid, held, heldSince } = control;
  await updateFlow(tx, flowUuid, { heldSince: held === null ? null : new Date(now()) });
  return heldSince === null ? 0 : now() - heldSince.getTime();
}

/** Where nothing is under way: follows the operator, and waits for as long as the action is held. */
export async function awaitGo(work: ActionWork): Promise<ActionControl> {
  const { context, lease, bell, signal } = work;
  for (;;) {
    let control = await readClaimed(context.db, lease);
    if (!isFollowed(control)) {
      control = await writeUnderLease(work, async (tx, current) => {
        await followHold(work, tx, current);
        return current;
      });
    }
    if (requestOf(control) !== 'hold') return control;
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
  { operations, revisionId }: { readonly operations: SiteOperations; readonly revisionId: number },
): () => Promise<Site> {
  const state: { site?: Site } = {};
  return async () => {
    state.site ??= await operations.readRevision(context, revisionId);
    return state.site;
  };
}

/** Effects of an action on the world, and its way to read documents: tests of the runner give it other ones. */
export interface SiteOperations {
  readonly checkRevision: typeof checkRevision;
  readonly readRevision: typeof readRevision;
  readonly advanceNodes: typeof advanceNodes;
  readonly verifyNodes: typeof verifyNodes;
  readonly relabelNodes: typeof relabelNodes;
  readonly findOutOfService: typeof findOutOfService;
  readonly askGate: typeof askGate;
}

export const siteOperations: SiteOperations = {
  checkRevision,
  readRevision,
  advanceNodes,
  verifyNodes,
  relabelNodes,
  findOutOfService,
  askGate,
};

/** How a claimed action has its nodes torn down, with the clusters that were settled when it was validated. */
export async function readTeardownOrder({
  context,
  action: { id },
  site,
}: Pick<ActionWork, 'context' | 'action' | 'site'>): Promise<TeardownOrder | undefined> {
  // the row may have been validated since it was claimed
  return teardownOrder(await getAction(context.db, id), await site(), context.config);
}
