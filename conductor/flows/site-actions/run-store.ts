import { asc, eq, inArray, sql } from 'drizzle-orm';
import { selectActions } from '#conductor/flows/site-actions/action-store.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import { storeRemark } from '#conductor/kernel/db/schema/remark-column.ts';
import {
  type SiteActionGroupRow,
  type SiteActionNodeRow,
  siteActionGroups,
  siteActionNodes,
  siteActions,
} from '#conductor/kernel/db/schema/site-action.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { type GroupRun, groupStages, isUnderWay, type NodeRun, type SiteRun } from '#conductor/model/site/site-run.ts';
import { statesOf } from '#conductor/model/site/transitions.ts';

const instant = (milliseconds: number | undefined) =>
  milliseconds === undefined ? null : new Date(milliseconds).toISOString();
const recordset = (rows: readonly unknown[]) => sql`${JSON.stringify(storableJson(rows))}::text::jsonb`;

/** Writes the groups and nodes of an action that has none yet. */
export async function insertRun(tx: Transaction, actionId: string, run: SiteRun): Promise<void> {
  const groups = run.groups.map(({ definition, members, stage, rollout }, position) => ({
    position,
    name: definition.name,
    definition,
    members,
    stage,
    rollout,
  }));
  await tx.execute(sql`
    insert into site_action_groups (action_id, position, name, definition, members, stage, rollout)
    select ${actionId}::text, position, name, definition, members, stage, rollout from jsonb_to_recordset(${recordset(groups)})
      as made(position integer, name text, definition jsonb, members jsonb, stage text, rollout jsonb)`);
  await tx.execute(sql`
    insert into site_action_nodes (action_id, name)
    select ${actionId}::text, value from jsonb_array_elements_text(${recordset([...run.nodes.keys()])})`);
}

/** An action's run as it was recorded last, maybe one without groups; `undefined` = it was not planned. */
export async function loadRun(
  db: Queryable,
  actionId: string,
  maxParallelGroups: number,
): Promise<SiteRun | undefined> {
  const groups = await listGroups(db, actionId);
  if (groups.length === 0 && !(await isPlanned(db, actionId))) return undefined;
  const nodes = await listActionNodes(db, actionId);
  return {
    groups: groups.map(groupRun),
    nodes: new Map(nodes.map((row) => [row.name, nodeRun(row)])),
    maxParallelGroups,
  };
}

/** Groups are chosen, maybe none, in the transaction that records that documents have passed. */
async function isPlanned(db: Queryable, actionId: string): Promise<boolean> {
  const [action] = await selectActions(db).where(eq(siteActions.id, actionId));
  return action?.validated === true && actionTable[action.name].steps.includes('baremetal_nodes');
}

/** In an order that the dependencies allow. */
const listGroups = rowsBy(siteActionGroups, 'actionId', 'position');

function listActionNodes(db: Queryable, actionId: string): Promise<SiteActionNodeRow[]> {
  return db
    .select()
    .from(siteActionNodes)
    .where(eq(siteActionNodes.actionId, actionId))
    .orderBy(asc(siteActionNodes.name));
}

function groupRun(row: SiteActionGroupRow): GroupRun {
  const { definition, members, stage, misses, reason, prepareStartedAt, preparedAt, deployStartedAt, rollout } = row;
  return {
    definition,
    members,
    stage,
    misses,
    ...(reason === null ? {} : { reason }),
    ...(prepareStartedAt === null ? {} : { prepareStartedAt: prepareStartedAt.getTime() }),
    ...(preparedAt === null ? {} : { preparedAt: preparedAt.getTime() }),
    ...(deployStartedAt === null ? {} : { deployStartedAt: deployStartedAt.getTime() }),
    ...(rollout === null ? {} : { rollout }),
  };
}

function nodeRun(row: SiteActionNodeRow): NodeRun {
  const { status, phase, groupName, phaseStartedAt, cancelling, reason, wasPrepared } = row;
  const work = phase && {
    phase,
    group: groupName ?? '',
    ...(phaseStartedAt === null ? {} : { startedAt: phaseStartedAt.getTime() }),
    ...(cancelling === null ? {} : { cancelling }),
  };
  return {
    status,
    ...(work ? { work } : {}),
    ...(reason === null ? {} : { reason }),
    ...(wasPrepared && groupName !== null ? { preparedFor: groupName } : {}),
  };
}

/** Writes what differs between the two: a statement for the groups and one for the nodes, where there is anything. */
export async function recordRun(tx: Transaction, actionId: string, before: SiteRun, after: SiteRun): Promise<void> {
  const groups = after.groups.filter((group, index) => group !== before.groups[index]);
  if (groups.length > 0) await recordGroups(tx, actionId, groups);
  const nodes = [...after.nodes].filter(([name, node]) => node !== before.nodes.get(name));
  if (nodes.length > 0) await recordNodes(tx, actionId, nodes);
}

async function recordGroups(tx: Transaction, actionId: string, groups: readonly GroupRun[]): Promise<void> {
  const rows = groups.map(
    ({ definition, stage, reason, misses, prepareStartedAt, preparedAt, deployStartedAt, rollout }) => ({
      name: definition.name,
      stage,
      reason,
      misses,
      prepare_started_at: instant(prepareStartedAt),
      prepared_at: instant(preparedAt),
      deploy_started_at: instant(deployStartedAt),
      rollout,
    }),
  );
  await tx.execute(sql`
    update site_action_groups as kept
    set stage = now_is.stage, reason = now_is.reason, misses = now_is.misses,
      prepare_started_at = now_is.prepare_started_at, prepared_at = now_is.prepared_at,
      deploy_started_at = now_is.deploy_started_at, rollout = now_is.rollout,
      ended_at = case when now_is.stage in ('success', 'failure') then coalesce(kept.ended_at, now()) end
    from jsonb_to_recordset(${recordset(rows)}) as now_is(
      name text, stage text, reason text, misses jsonb, prepare_started_at timestamptz, prepared_at timestamptz,
      deploy_started_at timestamptz, rollout jsonb)
    where kept.action_id = ${actionId} and kept.name = now_is.name`);
}

async function recordNodes(
  tx: Transaction,
  actionId: string,
  nodes: readonly (readonly [string, NodeRun])[],
): Promise<void> {
  const rows = nodes.map(([name, { status, work, reason, preparedFor }]) => ({
    name,
    status,
    phase: work?.phase,
    group_name: work?.group,
    cancelling: work?.cancelling,
    phase_started_at: instant(work?.startedAt),
    was_prepared: preparedFor !== undefined,
    reason: reason && storeRemark(reason),
  }));
  await tx.execute(sql`
    update site_action_nodes as kept
    set status = now_is.status, phase = now_is.phase, cancelling = now_is.cancelling, reason = now_is.reason,
      -- it stays known who had the last phase done
      group_name = coalesce(now_is.group_name, kept.group_name),
      cancelled_at = case when now_is.cancelling is not null then coalesce(kept.cancelled_at, now()) end,
      doing = case when now_is.phase = kept.phase then kept.doing end,
      was_prepared = now_is.was_prepared,
      phase_started_at = coalesce(now_is.phase_started_at, kept.phase_started_at),
      ended_at = case when now_is.status in ('success', 'failure') then coalesce(kept.ended_at, now()) end
    from jsonb_to_recordset(${recordset(rows)}) as now_is(
      name text, status text, phase text, group_name text, cancelling text, reason text,
      phase_started_at timestamptz, was_prepared boolean)
    where kept.action_id = ${actionId} and kept.name = now_is.name`);
}

const underWay = statesOf(groupStages).filter((stage) => isUnderWay({ stage }));

/** The same in the database as `prolongPhases` in memory. */
export async function prolongRun(tx: Transaction, actionId: string, ms: number): Promise<void> {
  const longer = sql`make_interval(secs => ${ms / 1000})`;
  await tx.execute(sql`
    update site_action_groups
    set prepare_started_at = prepare_started_at + ${longer}, deploy_started_at = deploy_started_at + ${longer}
    where action_id = ${actionId} and ${inArray(siteActionGroups.stage, underWay)}`);
  const since = sql.raw("'{watched,since}'");
  await tx.execute(sql`
    update site_action_groups
    set rollout = jsonb_set(rollout, ${since}, to_jsonb((rollout #>> ${since})::float8 + ${ms}))
    where action_id = ${actionId} and ${inArray(siteActionGroups.stage, underWay)} and rollout #> ${since} is not null`);
  await tx.execute(sql`
    update site_action_nodes set phase_started_at = phase_started_at + ${longer}
    where action_id = ${actionId} and phase is not null`);
}

/** Records what nodes at work are doing. */
export async function recordDoing(
  tx: Transaction,
  actionId: string,
  doing: readonly { readonly name: string; readonly doing: Remark }[],
): Promise<void> {
  if (doing.length === 0) return;
  const rows = doing.map((each) => ({ name: each.name, doing: storeRemark(each.doing) }));
  await tx.execute(sql`
    update site_action_nodes as kept set doing = now_is.doing
    from jsonb_to_recordset(${recordset(rows)}) as now_is(name text, doing text)
    where kept.action_id = ${actionId} and kept.name = now_is.name and kept.phase is not null`);
}

/** Outcome of a look at a node, or of a change of its labels. */
export interface NodeLook {
  readonly name: string;
  readonly status: 'success' | 'failure';
  readonly reason: Remark | undefined;
}

/** Records looks of an action that deploys nothing; a conductor that looks again records it again. */
export async function recordLooks(tx: Transaction, actionId: string, looks: readonly NodeLook[]): Promise<void> {
  const rows = looks.map(({ reason, ...look }) => ({ ...look, reason: reason && storeRemark(reason) }));
  await tx.execute(sql`
    insert into site_action_nodes (action_id, name, status, reason, ended_at)
    select ${actionId}::text, name, status, reason, now() from jsonb_to_recordset(${recordset(rows)})
      as seen(name text, status text, reason text)
    on conflict (action_id, name)
      do update set status = excluded.status, reason = excluded.reason, ended_at = excluded.ended_at`);
}
