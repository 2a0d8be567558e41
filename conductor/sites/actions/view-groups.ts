import { and, asc, eq, getTableColumns, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { ActionAnswer, ActionGroupAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import type { SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { siteActionGroups, siteActionNodes } from '#conductor/kernel/db/schema/site-action.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { isPausedByPerson, obstacleOf, type Rollout } from '#conductor/model/site/rollout.ts';
import { type GroupDefinition, type GroupStage, isUnderWay, type NodeStatus } from '#conductor/model/site/site-run.ts';
import type { SitesContext } from '#conductor/sites/context.ts';

const iso = (time: Date | null) => time?.toISOString() ?? null;

/** An action's groups with counts of their nodes: the database counts, since a client may look every second at 10,000 nodes. */
export async function viewGroups(
  db: Queryable,
  action: Pick<SiteAction, 'id' | 'endedAt' | 'held' | 'maxParallelGroups'>,
  { members: withMembers }: { readonly members: boolean },
): Promise<Required<Pick<ActionAnswer, 'groups' | 'nodes_by_status'>>> {
  const { members: all, ...columns } = getTableColumns(siteActionGroups);
  const rows = await db
    .select({
      ...columns,
      size: sql<number>`jsonb_array_length(${all})`,
      members: withMembers ? sql<string[]>`${all}` : sql<null>`null::jsonb`,
    })
    .from(siteActionGroups)
    .where(eq(siteActionGroups.actionId, action.id))
    .orderBy(asc(siteActionGroups.position));
  const counts = await countMembers(db, action.id);
  const { maxParallelGroups, held, endedAt } = action;
  const waiting = endedAt === null ? waitingFor(rows, { maxParallelGroups, held }) : new Map<string, string[]>();
  const groups = rows.map((row): ActionGroupAnswer => {
    const { name, definition, members, size, stage, reason, misses, prepareStartedAt, endedAt: end } = row;
    const { working, ...byStatus } = counts.get(name) ?? noNodes();
    return {
      name,
      critical: definition.critical,
      depends_on: definition.depends_on,
      stage,
      reason,
      waiting_for: waiting.get(name) ?? [],
      may_skip: endedAt === null && maySkip(row, held),
      misses,
      member_count: size,
      ...(members === null ? {} : { members }),
      nodes_by_status: byStatus,
      working,
      started_at: iso(prepareStartedAt),
      ended_at: iso(end),
    };
  });
  const { working: _atWork, ...total } = counts.get(undefined) ?? noNodes();
  return { groups, nodes_by_status: total };
}

type Counts = Record<NodeStatus | 'working', number>;

function noNodes(): Counts {
  return { not_started: 0, prepared: 0, success: 0, failure: 0, working: 0 };
}

const CountRows = z.array(
  z.object({
    group: z.string().nullable(),
    status: z.enum(['not_started', 'prepared', 'success', 'failure']),
    count: z.number(),
    working: z.number(),
  }),
);

/** By group, and of `undefined` each node once. */
async function countMembers(db: Queryable, actionId: string): Promise<Map<string | undefined, Counts>> {
  const answer = await db.execute(sql`
    select g.name as group, n.status, count(*)::float8 as count, count(n.phase)::float8 as working
      from site_action_groups g
      cross join lateral jsonb_array_elements_text(g.members) as member(name)
      join site_action_nodes n on n.action_id = g.action_id and n.name = member.name
      where g.action_id = ${actionId} group by 1, 2
    union all
    select null, status, count(*)::float8, count(phase)::float8
      from site_action_nodes where action_id = ${actionId} group by 2`);
  const counts = new Map<string | undefined, Counts>();
  for (const { group, status, count, working } of CountRows.parse(rowsOf(answer))) {
    const key = group ?? undefined;
    const known = counts.get(key) ?? noNodes();
    counts.set(key, { ...known, [status]: count, working: known.working + working });
  }
  return counts;
}

/** @param filter only of this group, in this status, or at work */
export async function viewActionNodes(
  { db }: Pick<SitesContext, 'db'>,
  actionId: string,
  filter: {
    readonly group?: string | undefined;
    readonly status?: NodeStatus | undefined;
    readonly working?: boolean | undefined;
  },
): Promise<ActionNodeAnswer[]> {
  const { name, status, phase, groupName, doing, cancelling, reason, phaseStartedAt, endedAt } = siteActionNodes;
  const conditions: (SQL | undefined)[] = [
    filter.group === undefined ? undefined : isMember(actionId, filter.group),
    filter.status === undefined ? undefined : eq(status, filter.status),
    filter.working === undefined ? undefined : filter.working ? isNotNull(phase) : isNull(phase),
  ];
  const rows = await db
    .select({ name, status, phase, groupName, doing, cancelling, reason, phaseStartedAt, endedAt })
    .from(siteActionNodes)
    .where(and(eq(siteActionNodes.actionId, actionId), ...conditions))
    .orderBy(asc(name));
  return rows.map((row) => {
    const now = row.cancelling === null ? row.doing : newRemark('cancelling', { reason: row.cancelling });
    const remark = now ?? row.reason;
    return {
      name: row.name,
      status: row.status,
      phase: row.phase,
      group: row.groupName,
      doing: now && describeRemark(now),
      reason: row.reason && describeRemark(row.reason),
      remark: remark && { ...remark, subject: row.name },
      since: iso(row.endedAt ?? row.phaseStartedAt),
    };
  });
}

function isMember(actionId: string, group: string): SQL {
  return sql`${siteActionNodes.name} in (
    select jsonb_array_elements_text(members) from site_action_groups where action_id = ${actionId} and name = ${group})`;
}

/** Whether an operator may have the group go past what is in its way: not while a person has paused the action. Pure. */
function maySkip(group: Pick<WaitingGroup, 'stage' | 'rollout'>, held: string | null): boolean {
  return isUnderWay(group) && !isPausedByPerson(held) && !!group.rollout && obstacleOf(group.rollout) !== undefined;
}

/** A group as far as it says who waits for whom. */
interface WaitingGroup {
  readonly name: string;
  readonly definition: Pick<GroupDefinition, 'depends_on'>;
  readonly stage: GroupStage;
  readonly rollout?: Rollout | null;
}

/**
 * Describes for people what groups that have not begun wait for: groups by name, or for a free slot; and of those under
 * way what keeps further nodes from being begun. Of one whose turn comes at the next beat nothing. Pure.
 * @param maxParallelGroups null = it is not known
 * @param held the reason why the action is paused; null = it is not
 */
export function waitingFor(
  groups: readonly WaitingGroup[],
  { maxParallelGroups, held }: { readonly maxParallelGroups: number | null; readonly held: string | null },
): Map<string, string[]> {
  const stages = new Map(groups.map(({ name, stage }) => [name, stage]));
  const atWork = groups.filter(isUnderWay).length;
  const slot =
    maxParallelGroups !== null && atWork >= maxParallelGroups
      ? [`a free slot: ${atWork} of ${maxParallelGroups} groups at work`]
      : [];
  const pause = held === null ? [] : [held.includes(':') ? `the end of the pause (${held})` : 'the end of the pause'];
  return new Map(
    groups.flatMap((group): [string, string[]][] => {
      const { name, definition, stage, rollout } = group;
      if (stage === 'not_started') {
        const left = definition.depends_on.filter((each) => stages.get(each) !== 'success');
        return [[name, left.length > 0 ? left : pause.length > 0 ? pause : slot]];
      }
      if (!rollout || !isUnderWay(group)) return [];
      const rest = rollout.waits ? [describeRemark(rollout.waits)] : [];
      return [[name, pause.length > 0 ? pause : rest]];
    }),
  );
}
