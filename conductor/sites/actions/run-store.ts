import { asc, eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/db/open.ts';
import {
  type SiteActionGroupRow,
  type SiteActionNodeRow,
  siteActionGroups,
  siteActionNodes,
} from '#conductor/db/schema/site-action.ts';
import { storableJson } from '#conductor/db/storable-json.ts';
import type { GroupRun, NodeRun, SiteRun } from '#conductor/sites/strategy/site-run.ts';

const instant = (milliseconds: number | undefined) =>
  milliseconds === undefined ? null : new Date(milliseconds).toISOString();
const recordset = (rows: readonly unknown[]) => sql`${JSON.stringify(storableJson(rows))}::text::jsonb`;

/** Writes the groups and nodes of an action that has none yet. */
export async function insertRun(tx: Transaction, actionId: string, run: SiteRun): Promise<void> {
  const groups = run.groups.map(({ definition, members, stage }, position) => ({
    position,
    name: definition.name,
    definition,
    members,
    stage,
  }));
  await tx.execute(sql`
    insert into site_action_groups (action_id, position, name, definition, members, stage)
    select ${actionId}::text, position, name, definition, members, stage from jsonb_to_recordset(${recordset(groups)})
      as made(position integer, name text, definition jsonb, members jsonb, stage text)`);
  await tx.execute(sql`
    insert into site_action_nodes (action_id, name)
    select ${actionId}::text, value from jsonb_array_elements_text(${recordset([...run.nodes.keys()])})`);
}

/** An action's run as it was recorded last; `undefined` = it has none. */
export async function loadRun(
  db: Queryable,
  actionId: string,
  maxParallelGroups: number,
): Promise<SiteRun | undefined> {
  const groups = await listGroups(db, actionId);
  if (groups.length === 0) return undefined;
  const nodes = await listActionNodes(db, actionId);
  return {
    groups: groups.map(groupRun),
    nodes: new Map(nodes.map((row) => [row.name, nodeRun(row)])),
    maxParallelGroups,
  };
}

/** In an order that the dependencies allow. */
export function listGroups(db: Queryable, actionId: string): Promise<SiteActionGroupRow[]> {
  return db
    .select()
    .from(siteActionGroups)
    .where(eq(siteActionGroups.actionId, actionId))
    .orderBy(asc(siteActionGroups.position));
}

export function listActionNodes(db: Queryable, actionId: string): Promise<SiteActionNodeRow[]> {
  return db
    .select()
    .from(siteActionNodes)
    .where(eq(siteActionNodes.actionId, actionId))
    .orderBy(asc(siteActionNodes.name));
}

function groupRun(row: SiteActionGroupRow): GroupRun {
  const { definition, members, stage, misses, reason, prepareStartedAt, deployStartedAt } = row;
  return {
    definition,
    members,
    stage,
    misses,
    ...(reason === null ? {} : { reason }),
    ...(prepareStartedAt === null ? {} : { prepareStartedAt: prepareStartedAt.getTime() }),
    ...(deployStartedAt === null ? {} : { deployStartedAt: deployStartedAt.getTime() }),
  };
}

function nodeRun({ status, phase, groupName, cancelling, reason }: SiteActionNodeRow): NodeRun {
  const work = phase && {
    phase,
    group: groupName ?? '',
    ...(cancelling === null ? {} : { cancelling }),
  };
  return { status, ...(work ? { work } : {}), ...(reason === null ? {} : { reason }) };
}

/** Writes what differs between the two: a statement for the groups and one for the nodes, where there is anything. */
export async function recordRun(tx: Transaction, actionId: string, before: SiteRun, after: SiteRun): Promise<void> {
  const groups = after.groups.filter((group, index) => group !== before.groups[index]);
  if (groups.length > 0) await recordGroups(tx, actionId, groups);
  const nodes = [...after.nodes].filter(([name, node]) => node !== before.nodes.get(name));
  if (nodes.length > 0) await recordNodes(tx, actionId, nodes);
}

async function recordGroups(tx: Transaction, actionId: string, groups: readonly GroupRun[]): Promise<void> {
  const rows = groups.map(({ definition, stage, reason, misses, prepareStartedAt, deployStartedAt }) => ({
    name: definition.name,
    stage,
    reason,
    misses,
    prepare_started_at: instant(prepareStartedAt),
    deploy_started_at: instant(deployStartedAt),
  }));
  await tx.execute(sql`
    update site_action_groups as kept
    set stage = now_is.stage, reason = now_is.reason, misses = now_is.misses,
      prepare_started_at = now_is.prepare_started_at, deploy_started_at = now_is.deploy_started_at,
      ended_at = case when now_is.stage in ('success', 'failure') then coalesce(kept.ended_at, now()) end
    from jsonb_to_recordset(${recordset(rows)}) as now_is(
      name text, stage text, reason text, misses jsonb, prepare_started_at timestamptz, deploy_started_at timestamptz)
    where kept.action_id = ${actionId} and kept.name = now_is.name`);
}

async function recordNodes(
  tx: Transaction,
  actionId: string,
  nodes: readonly (readonly [string, NodeRun])[],
): Promise<void> {
  const rows = nodes.map(([name, { status, work, reason }]) => ({
    name,
    status,
    phase: work?.phase,
    group_name: work?.group,
    cancelling: work?.cancelling,
    reason,
  }));
  await tx.execute(sql`
    update site_action_nodes as kept
    set status = now_is.status, phase = now_is.phase, cancelling = now_is.cancelling, reason = now_is.reason,
      -- it stays known who had the last phase done
      group_name = coalesce(now_is.group_name, kept.group_name),
      cancelled_at = case when now_is.cancelling is not null then coalesce(kept.cancelled_at, now()) end,
      doing = case when now_is.phase = kept.phase then kept.doing end,
      phase_started_at = case when now_is.phase is distinct from kept.phase and now_is.phase is not null then now()
        else kept.phase_started_at end,
      ended_at = case when now_is.status in ('success', 'failure') then coalesce(kept.ended_at, now()) end
    from jsonb_to_recordset(${recordset(rows)}) as now_is(
      name text, status text, phase text, group_name text, cancelling text, reason text)
    where kept.action_id = ${actionId} and kept.name = now_is.name`);
}

/** What nodes at work are doing, for people. */
export async function recordDoing(
  tx: Transaction,
  actionId: string,
  doing: readonly { readonly name: string; readonly doing: string }[],
): Promise<void> {
  if (doing.length === 0) return;
  await tx.execute(sql`
    update site_action_nodes as kept set doing = now_is.doing
    from jsonb_to_recordset(${recordset(doing)}) as now_is(name text, doing text)
    where kept.action_id = ${actionId} and kept.name = now_is.name and kept.phase is not null`);
}
