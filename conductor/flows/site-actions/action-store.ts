import { and, asc, desc, eq, getTableColumns, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import { type FlowStepRow, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteActionCommands, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { requestOf } from '#conductor/model/flows/flow-states.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Conductors listen there: an action has come, or something about the one under way has changed. */
export const siteActionChannel = 'baton_site_action';

export type ActionCommand = (typeof siteActionCommands.$inferSelect)['command'];

/** On `flows`: the site's own, not one of a node. */
export const isOfSite = eq(flows.siteActionId, siteActions.id);

const name = sql<ActionName>`${flows.kind}`.as('name');
/** How far its flow is, and what its operator has asked for. */
const control = {
  name,
  flowUuid: flows.uuid,
  state: flows.state,
  held: flows.held,
  heldSince: flows.heldSince,
  abortRequested: flows.abortRequested,
  endedAt: flows.endedAt,
  /** Number of times that it was asked to go past what is in its groups' way. */
  skips: sql<number>`(select count(*)::integer from ${siteActionCommands}
    where ${siteActionCommands.actionId} = ${siteActions.id} and ${siteActionCommands.command} = 'skip')`.as('skips'),
};
const columns = {
  ...getTableColumns(siteActions),
  ...control,
  user: flows.requestedBy,
  requestId: flows.requestId,
  globalRequestId: flows.globalRequestId,
  error: flows.error,
  createdAt: flows.startedAt,
};
export type SiteAction = Awaited<ReturnType<typeof selectActions>>[number];

export type ActionControl = Awaited<ReturnType<typeof selectControl>>[number];

export function selectActions(db: Queryable) {
  return db.select(columns).from(siteActions).innerJoin(flows, isOfSite).$dynamic();
}

export function selectControl(db: Queryable) {
  return db.select(control).from(siteActions).innerJoin(flows, isOfSite).$dynamic();
}

/**
 * Describes the action's state for people: an operator's pause or stop, too, which the runner may not have heard of
 * yet.
 */
export function describeState(action: ActionControl): string {
  if (action.endedAt !== null) return action.state;
  return { run: 'running', hold: 'paused', abort: 'stopping' }[requestOf(action)];
}

/** @throws AppError `not_found`. */
export async function getAction(db: Queryable, id: string): Promise<SiteAction> {
  const [row] = await selectActions(db).where(eq(siteActions.id, id));
  if (!row) throw new AppError('not_found', `Action ${id} could not be found.`);
  return row;
}

interface ActionPage {
  readonly limit: number;
  /** The id of the last one of the page before. */
  readonly before?: string | undefined;
  /** Only those that have not ended, or only those that have. */
  readonly open?: boolean | undefined;
}

/** The newest first. */
export function listActions(db: Queryable, { limit, before, open }: ActionPage): Promise<SiteAction[]> {
  return selectActions(db)
    .where(
      and(
        before === undefined ? undefined : lt(siteActions.id, before),
        open === undefined ? undefined : open ? isNull(flows.endedAt) : isNotNull(flows.endedAt),
      ),
    )
    .orderBy(desc(siteActions.id))
    .limit(limit);
}

/** The one of this sort that is under way; there is one at the most. */
export async function findOpenAction(db: Queryable, sort: readonly ActionName[]): Promise<SiteAction | undefined> {
  const [row] = await selectActions(db).where(and(isNull(flows.endedAt), inArray(flows.kind, [...sort])));
  return row;
}

/** Lists the steps of each action, in the order in which they run. */
export function listActionSteps(
  db: Queryable,
  actions: readonly Pick<SiteAction, 'flowUuid'>[],
): Promise<FlowStepRow[]> {
  const uuids = actions.map(({ flowUuid }) => flowUuid);
  return db.select().from(flowSteps).where(inArray(flowSteps.flowUuid, uuids)).orderBy(asc(flowSteps.position));
}

export const listActionCommands = rowsBy(siteActionCommands, 'actionId', 'id');

export async function addCommand(
  db: Queryable,
  row: { readonly actionId: string; readonly command: ActionCommand; readonly user: string | null },
): Promise<void> {
  await db.insert(siteActionCommands).values(row);
}

/** Notifies every conductor, once the transaction is committed. */
export async function notifyRunners(db: Queryable): Promise<void> {
  await db.execute(sql`select pg_notify(${siteActionChannel}, '')`);
}
