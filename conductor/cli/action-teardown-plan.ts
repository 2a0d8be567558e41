import {
  type LostPodView,
  namePods,
  type PlannedDiskView,
  type TeardownNodeView,
} from '#conductor/api/teardown-plan.ts';
import { formatBytes } from '#conductor/cli/format-units.ts';

/** The plan of a teardown as its operator reads it before: node by node, step by step. Pure. */
export function teardownPlanLines(plan: {
  readonly [field: string]: unknown;
  readonly nodes: readonly TeardownNodeView[];
}): string[] {
  const remarks = Array.isArray(plan['remarks']) ? (plan['remarks'] as readonly string[]) : [];
  const head = `${String(plan['name'])} from revision ${String(plan['committed_rev_id'])}; nothing has been started`;
  return [head, ...remarks.map((remark) => `  ${remark}`), ...plan.nodes.flatMap(nodeLines)];
}

function nodeLines(node: TeardownNodeView, index: number): string[] {
  const { disks } = node;
  const seen = node.disks_seen_at === null ? '' : `, as seen ${node.disks_seen_at}`;
  return [
    '',
    `${index + 1}. ${node.name} (${node.provision_state ?? 'not enrolled'})`,
    ...(node.refused === null ? [] : [`   REFUSED: ${node.refused}`]),
    ...node.wrong.map((text) => `   now wrong: ${text}`),
    ...(node.kubernetes ? [`   Kubernetes: ${describeKubernetes(node.kubernetes)}`, ...podLines(node.kubernetes)] : []),
    ...node.etcd.map(({ cluster, members }) => `   etcd ${cluster}: ${describeMembers(members)}`),
    ...(disks.wiped.length > 0 ? [`   wiped${seen}:`, ...disks.wiped.map(diskLine)] : []),
    ...(disks.kept.length > 0 ? ['   kept:', ...disks.kept.map(diskLine)] : []),
    ...disks.remarks.map((text) => `   disks: ${text}`),
    // nothing of it would be begun
    ...(node.refused === null ? node.steps : []).flatMap(({ step, does, timeout, on_failure: onFailure }) => [
      `   ${step}${timeout === null ? '' : ` (at most ${timeout} s)`}: ${does}`,
      `     if it fails: ${onFailure}`,
    ]),
  ];
}

function describeKubernetes({
  is_member: isMember,
  ready,
  cordoned,
  pods,
  evicted,
}: NonNullable<TeardownNodeView['kubernetes']>) {
  if (isMember === null) return 'could not be asked';
  if (!isMember) return 'has no such node';
  // a conductor of the release before says nothing of it
  const leaving = typeof evicted === 'number' ? [`${evicted} of them evicted`] : [];
  return [ready ? 'ready' : 'not ready', ...(cordoned ? ['cordoned'] : []), `${pods ?? 0} pods`, ...leaving].join(', ');
}

/** What budgets keep, and what `kubectl drain` would ask about first. */
function podLines({ lost, kept_by_budgets: kept }: NonNullable<TeardownNodeView['kubernetes']>): string[] {
  const of = (because: LostPodView['because']) => (lost ?? []).filter((each) => each.because === because);
  const [unmanaged, local] = [of('unmanaged'), of('local data')];
  return [
    ...(kept && kept.length > 0 ? [`   kept by budgets now: ${namePods(kept)}`] : []),
    ...(unmanaged.length > 0 ? [`   lost, because no controller creates them again: ${namePods(unmanaged)}`] : []),
    ...(local.length > 0 ? [`   lose their local data (emptyDir): ${namePods(local)}`] : []),
  ];
}

function describeMembers(members: readonly string[] | null): string {
  if (members === null) return 'could not be asked';
  return members.length === 0 ? 'no member on it' : `member ${members.join(', ')}`;
}

function diskLine({ name, serial, model, size_bytes: size, holds_os: holdsOs, kept }: PlannedDiskView): string {
  const parts = [
    `serial ${serial ?? 'unknown'}`,
    ...(model === null ? [] : [model]),
    ...(size === null ? [] : [formatBytes(size)]),
  ];
  const why = [...(holdsOs ? ['operating system'] : []), ...(kept === null ? [] : [kept])];
  return `     ${name}: ${parts.join(', ')}${why.length === 0 ? '' : ` (${why.join('; ')})`}`;
}
