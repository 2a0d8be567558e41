import { and, desc, inArray, isNotNull, notInArray, sql } from 'drizzle-orm';
import { fenceContext } from '#conductor/flows/engine/node-worker.ts';
import {
  type ClaimedAction,
  claimAction,
  keepAction,
  releaseAction,
  releaseStaleActions,
} from '#conductor/flows/site-actions/action-lease.ts';
import { isOfSite, notifyRunners, siteActionChannel } from '#conductor/flows/site-actions/action-store.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { readMoment } from '#conductor/kernel/lease.ts';
import { countDatabaseFault } from '#conductor/kernel/metrics/metrics.ts';
import { type Bell, startWakeLoop } from '#conductor/kernel/wake-loop.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import { actionSorts } from '#conductor/model/site/action-table.ts';
import { addNotes } from '#conductor/sites/actions/action-notes.ts';
import {
  type ActionWork,
  type SiteOperations,
  siteReader,
  writeUnderLease,
} from '#conductor/sites/actions/action-work.ts';
import { endStopped, runAction } from '#conductor/sites/actions/run-action.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { Clock } from '#shared/clock.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import { backOffMs } from '#shared/retry.ts';

/**
 * Runs the open site actions, if no other conductor does, from wherever they are. The database is all that it knows of it:
 * a nudge says only that there is something to look at.
 */
export interface ActionRunner {
  /** Returns at once, never throws. */
  nudge(): void;
  /** Lets go of the action, so that another conductor goes on with it at once; so does `context.stopping`. */
  stop(): Promise<void>;
}

/** Pauses after errors in a row: from the period of a beat on, twice as long each time. */
const longestPauseMs = 30_000;
/** After so long without an error the next one is the first again. */
const forgetErrorsMs = 60_000;

interface RunnerOptions {
  readonly context: SitesContext;
  readonly clock: Clock;
  readonly operations: SiteOperations;
}

/** Starts the runner of a conductor that has just come up, woken by notifications of site actions. */
export async function openActionRunner(options: RunnerOptions): Promise<ActionRunner> {
  const { config, database } = options.context;
  await releaseStaleActions(database.db, { holder: config.conductorName, exclusive: database.exclusive });
  const runner = startActionRunner(options);
  await database.listen(siteActionChannel, () => runner.nudge());
  return runner;
}

/** One loop for each sort of action: they run beside each other. */
export function startActionRunner(options: RunnerOptions): ActionRunner {
  const loops = actionSorts.map((sort) => startLoop(options, sort));
  return {
    nudge: () => {
      for (const loop of loops) loop.nudge();
    },
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

function startLoop({ context, clock, operations }: RunnerOptions, sort: readonly ActionName[]): ActionRunner {
  const { config } = context;
  return startWakeLoop({
    clock,
    until: context.stopping,
    run: async ({ signal, bell }) => {
      const claimed = await claimNext(context, { operations, bell, clock, sort, stopping: signal });
      return claimed ? 0 : config.reconcileIntervalMs;
    },
    onError: (error, failures) => {
      countDatabaseFault(context.metrics, error);
      context.log.error({ err: error }, 'site actions could not be read; retrying');
      return backOffMs({ firstMs: config.siteBeatMs, mostMs: longestPauseMs }, failures);
    },
  });
}

interface RunnerParts {
  readonly operations: SiteOperations;
  readonly bell: Bell;
  readonly clock: Clock;
  readonly sort: readonly ActionName[];
  readonly stopping: AbortSignal;
}

/** Claims the open action of this sort and runs it for as long as the lease lasts; `false` when there is nothing to claim. */
async function claimNext(context: SitesContext, parts: RunnerParts): Promise<boolean> {
  const { config, db, log } = context;
  const { bell, clock, operations, sort, stopping } = parts;
  const claimedAt = readMoment();
  const claimed = await claimAction(db, { holder: config.conductorName, leaseMs: config.leaseMs }, sort);
  if (!claimed) return false;
  const { lease, action, takenFrom, claimedAtMs } = claimed;
  const about = { action: action.id, name: action.name };
  if (takenFrom === undefined) log.info(about, 'site action claimed');
  else log.warn({ ...about, from: takenFrom }, 'site action taken over');
  const kept = keepAction(context, lease, claimedAt);
  const fenced = { ...fenceContext(context, kept.requireHeld), clock };
  const work: ActionWork = {
    context: fenced,
    operations,
    action,
    lease,
    bell,
    signal: AbortSignal.any([stopping, kept.signal]),
    now: () => claimedAtMs + performance.now() - claimedAt.monotonicMs,
    site: siteReader(fenced, { operations, revisionId: action.revisionId }),
  };
  try {
    if (lease.token > 1) await report(work, describeTakeover(config.conductorName, takenFrom));
    await runPersistently(work);
  } finally {
    kept.stop();
    await letGo(context, claimed, stopping);
  }
  return true;
}

/** Whatever passes is tried again from what is recorded, and shown to anyone who looks at the action. */
async function runPersistently(work: ActionWork): Promise<void> {
  const { context, action, signal } = work;
  const errors = createErrorCount();
  const reported = new Set<string>();
  for (;;) {
    try {
      await runAction(work);
      return;
    } catch (error) {
      if (signal.aborted || errorCode(error) === 'lease_lost') {
        context.log.info({ action: action.id, err: error }, 'site action left to another conductor');
        return;
      }
      countDatabaseFault(context.metrics, error);
      context.log.error({ action: action.id, err: error }, 'site action: a beat failed; it is tried again');
      const text = `conductor ${context.config.conductorName} failed in a beat of the action, and tries again: ${errorChain(error)}`;
      if (!reported.has(text)) await report(work, text);
      reported.add(text);
      const pauseMs = errors.pauseMs(context.config.siteBeatMs);
      if (await tryToEnd(work, error, errors.count())) continue;
      await context.clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}

/** @param from whose lease had run out; absent = it was let go of, or its conductor has restarted since */
function describeTakeover(by: string, from: string | undefined): string {
  if (from === undefined) return `conductor ${by} goes on with it, from what is recorded`;
  if (from === by) return `conductor ${by} goes on with it, after its lease had run out`;
  return `conductor ${by} has taken it over from ${from}, whose lease had run out`;
}

async function report(work: ActionWork, text: string): Promise<void> {
  const { context, action } = work;
  try {
    await writeUnderLease(work, (tx) => addNotes(tx, action.id, [{ verbosity: 1, text }]));
  } catch (error) {
    context.log.warn({ action: action.id, err: error }, 'note not written');
  }
}

async function tryToEnd(work: ActionWork, error: unknown, tries: number): Promise<boolean> {
  try {
    return await endStopped(work, error, tries);
  } catch (cause) {
    work.context.log.warn({ action: work.action.id, err: cause }, 'site action does not end either; it is tried again');
    return false;
  }
}

async function letGo({ db, log }: SitesContext, { lease }: ClaimedAction, stopping: AbortSignal): Promise<void> {
  try {
    await releaseAction(db, lease);
    if (stopping.aborted) await notifyRunners(db);
  } catch (error) {
    log.warn({ action: lease.actionId, err: error }, 'lease on a site action not given back; it runs out');
  }
}

/** How long to wait after each of several errors in a row. */
function createErrorCount(): { pauseMs(firstMs: number): number; count(): number } {
  const state = { count: 0, lastAt: 0 };
  return {
    count: () => state.count,
    pauseMs: (firstMs) => {
      const now = performance.now();
      state.count = now - state.lastAt > forgetErrorsMs ? 0 : state.count;
      state.count += 1;
      state.lastAt = now;
      return backOffMs({ firstMs, mostMs: longestPauseMs }, state.count);
    },
  };
}

/** Ended actions that are kept, with their nodes, groups and notes. */
const keptActions = 50;

/**
 * Deletes the ended actions beyond the newest, but for those that the newest tag of each kind names: which the last site
 * action was, and the last that succeeded, is asked for long afterwards. Tags keep what they say of an action.
 */
export async function pruneActions({ db, log }: Pick<SitesContext, 'db' | 'log'>): Promise<void> {
  const newest = db
    .select({ id: siteActions.id })
    .from(siteActions)
    .innerJoin(flows, isOfSite)
    .where(isNotNull(flows.endedAt))
    .orderBy(desc(siteActions.id))
    .limit(keptActions);
  const named = await db
    .selectDistinctOn([siteRevisionTags.tag], { id: sql<string | null>`${siteRevisionTags.data} ->> 'action'` })
    .from(siteRevisionTags)
    .where(inArray(siteRevisionTags.tag, ['site-action-success', 'site-action-failure']))
    .orderBy(siteRevisionTags.tag, desc(siteRevisionTags.createdAt), desc(siteRevisionTags.revisionId));
  const deleted = await db
    .delete(siteActions)
    .where(
      and(
        inArray(siteActions.id, db.select({ id: flows.siteActionId }).from(flows).where(isNotNull(flows.endedAt))),
        notInArray(siteActions.id, newest),
        ...named.flatMap(({ id }) => (id === null ? [] : [sql`${siteActions.id} <> ${id}`])),
      ),
    )
    .returning({ id: siteActions.id });
  if (deleted.length > 0) log.info({ actions: deleted.length }, 'old site actions deleted');
}
