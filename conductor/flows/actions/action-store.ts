import { and, asc, desc, eq, inArray, isNull, lt, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import {
  type SiteActionRow,
  type SiteActionStepRow,
  siteActionCommands,
  siteActionSteps,
  siteActions,
} from '#conductor/kernel/db/schema/site-action.ts';
import type { ActionStepName } from '#conductor/model/action-table.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Conductors listen there: an action has come, or something about the one under way has changed. */
export const siteActionChannel = 'baton_site_action';

export type ActionCommand = (typeof siteActionCommands.$inferSelect)['command'];
export type ActionCommandRow = typeof siteActionCommands.$inferSelect;

/** @throws AppError `not_found`. */
export async function getAction(db: Queryable, id: string): Promise<SiteActionRow> {
  const [row] = await db.select().from(siteActions).where(eq(siteActions.id, id));
  if (!row) throw new AppError('not_found', `Action ${id} could not be found.`);
  return row;
}

/** The newest first. @param before the id of the last one of the page before */
export function listActions(
  db: Queryable,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<SiteActionRow[]> {
  return db
    .select()
    .from(siteActions)
    .where(before === undefined ? undefined : lt(siteActions.id, before))
    .orderBy(desc(siteActions.id))
    .limit(limit);
}

/** The one under way; there is one at the most. */
export async function findOpenAction(db: Queryable): Promise<SiteActionRow | undefined> {
  const [row] = await db.select().from(siteActions).where(isNull(siteActions.endedAt));
  return row;
}

export function listActionSteps(db: Queryable, actionIds: readonly string[]): Promise<SiteActionStepRow[]> {
  return db
    .select()
    .from(siteActionSteps)
    .where(inArray(siteActionSteps.actionId, [...actionIds]))
    .orderBy(asc(siteActionSteps.position));
}

export function listActionCommands(db: Queryable, actionId: string): Promise<ActionCommandRow[]> {
  return db
    .select()
    .from(siteActionCommands)
    .where(eq(siteActionCommands.actionId, actionId))
    .orderBy(asc(siteActionCommands.id));
}

export async function addCommand(
  db: Queryable,
  row: { readonly actionId: string; readonly command: ActionCommand; readonly user: string | null },
): Promise<void> {
  await db.insert(siteActionCommands).values(row);
}

/** How long the pause has lasted that is followed, by the database's clock; 0 = none is. */
export async function readPausedMs(db: Queryable, actionId: string): Promise<number> {
  const [row] = await db
    .select({ ms: sql<number>`coalesce(extract(epoch from now() - ${siteActions.pausedAt}) * 1000, 0)::float8` })
    .from(siteActions)
    .where(eq(siteActions.id, actionId));
  return row?.ms ?? 0;
}

/** Notes the beginning or the end of a step; its times are the database's. */
export async function recordStep(
  tx: Transaction,
  step: { readonly actionId: string; readonly name: ActionStepName },
  now: { readonly state: SiteActionStepRow['state']; readonly error?: string | undefined },
): Promise<void> {
  const { state, error = null } = now;
  const times =
    state === 'running'
      ? { startedAt: sql`coalesce(${siteActionSteps.startedAt}, now())` }
      : state === 'pending'
        ? {}
        : { endedAt: sql`now()` };
  await tx
    .update(siteActionSteps)
    .set({ state, error, ...times })
    .where(and(eq(siteActionSteps.actionId, step.actionId), eq(siteActionSteps.name, step.name)));
}

/** Tells every conductor, once the transaction is committed. */
export async function tellRunners(db: Queryable): Promise<void> {
  await db.execute(sql`select pg_notify(${siteActionChannel}, '')`);
}
