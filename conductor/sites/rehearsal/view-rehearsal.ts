import type { ActionRehearsal, RehearsedTimes } from '#conductor/api/rehearsal.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { type ActionPlan, describeFromSite } from '#conductor/sites/actions/create-action.ts';
import { assumedSeconds, type NodeCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import type { Rehearsed, RehearsedSpan, Times } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import type { ReadOrder } from '#conductor/sites/rehearsal/read-order.ts';

interface Parts {
  readonly plan: ActionPlan;
  readonly read: ReadOrder;
  readonly rehearsed: Rehearsed;
  readonly runs: number;
  readonly seed: number;
}

/** Views what a rehearsal has found. Pure. */
export function viewRehearsal({ plan, read, rehearsed, runs, seed }: Parts): ActionRehearsal {
  const { groups, nodes, racks, mostOut, criticalPath } = rehearsed;
  const percent = (count: number): number => Math.round((1000 * count) / runs) / 10;
  const spanOf = ({ begins, ends, begun, succeeded, failed }: RehearsedSpan) => ({
    begins: viewTimes(begins),
    ends: viewTimes(ends),
    begun_percent: percent(begun),
    success_percent: percent(succeeded),
    failure_percent: percent(failed),
  });
  return {
    rehearsed: true,
    name: plan.name,
    committed_rev_id: plan.revisionId,
    runs,
    seed,
    ends: viewTimes(rehearsed.ends),
    success_percent: percent(rehearsed.succeeded),
    pauses: rehearsed.pauses.map(({ group, reason, runs: count }) => ({ group, reason, percent: percent(count) })),
    stuck_percent: percent(rehearsed.stuck),
    most_out: mostOut,
    racks: [...racks].map(([rack, counts]) => ({ rack: rack === '' ? null : rack, most_out: counts })),
    groups: plan.run.groups.flatMap(({ definition, members }) => {
      const { name, critical, depends_on: before } = definition;
      const seen = groups.get(name);
      if (!seen) return [];
      const { mostOut: most } = seen;
      return { name, critical, depends_on: before, member_count: members.length, ...spanOf(seen), most_out: most };
    }),
    nodes: [...nodes].map(([name, seen]) => ({
      name,
      rack: read.scene.racks.get(name) ?? null,
      ...spanOf(seen),
      ...viewCourse(read.courses.get(name)),
    })),
    critical_path: criticalPath.map(({ group, node, begins, ends }) => ({
      group,
      node: node ?? null,
      begins_seconds: begins,
      ends_seconds: ends,
    })),
    durations: read.durations.map(({ kind, model, basis, flows, nodes: count }) => ({
      flow: kind,
      model: model ?? null,
      nodes: count,
      basis,
      flows,
      assumed_seconds: basis === 'assumed' ? assumedSeconds(kind) : null,
    })),
    validations: plan.faults,
    remarks: describeFromSite(plan),
  };
}

function viewTimes(times: Times | null): RehearsedTimes | null {
  if (!times) return null;
  return { median_seconds: times.median, p90_seconds: times.p90, is_assumed: times.isAssumed };
}

/** Views what would be done to a node, and what the engine would say of it if nothing went wrong. */
function viewCourse(course: NodeCourse | undefined): { readonly flows: string[]; readonly remark: string | null } {
  if (!course) return { flows: [], remark: null };
  const { prepare, deploy } = course;
  const flows = [...prepare.flows, ...deploy.flows].map(({ kind }) => kind);
  const end = prepare.end.state === 'done' ? deploy.end : prepare.end;
  if (end.state === 'failed') return { flows, remark: describeRemark(end.error) };
  if (end.state === 'waits') return { flows, remark: describeRemark(end.doing) };
  const remark = end.remark ?? (prepare.end.state === 'done' ? prepare.end.remark : undefined);
  return { flows, remark: remark ? describeRemark(remark) : null };
}
