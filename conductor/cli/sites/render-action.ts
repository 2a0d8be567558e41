import type {
  ActionAnswer,
  ActionDryRun,
  ActionGroupAnswer,
  ActionNodeAnswer,
  ActionStepAnswer,
} from '#conductor/api/actions.ts';
import {
  type LostPodView,
  namePods,
  type PlannedDiskView,
  type TeardownNodeView,
} from '#conductor/api/teardown-plan.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { describeForCli } from '#conductor/cli/shell/print.ts';
import type { ScreenSize } from '#conductor/cli/shell/screen.ts';
import { type TreeLine, treeOfGroups } from '#conductor/cli/sites/draw-groups.ts';
import type { GroupStage, NodeStatus } from '#conductor/model/site/site-run.ts';

const stepMarks: Readonly<Record<ActionStepAnswer['state'], string>> = {
  pending: '·',
  running: '▶',
  success: '✓',
  failed: '✗',
  skipped: '-',
};

const groupMarks: Readonly<Record<GroupStage, string>> = {
  not_started: '·',
  preparing: '▶',
  prepared: '▶',
  deploying: '▶',
  success: '✓',
  failure: '✗',
};

export interface ActionScene {
  readonly now: Date;
  readonly size: ScreenSize;
  /** Nodes at work now; as many are shown as there is room for, a few. */
  readonly working?: readonly ActionNodeAnswer[];
}

const mostNodes = 6;
/** Header, steps, two empty lines, nodes by state, and the row of the cursor. */
const frameRows = 6;

/**
 * A site action as lines of text that fit into the terminal's rows: its steps, its groups as a tree with a bar each, what
 * a few nodes at work are doing, and nodes by state. Of more groups than there is room for those that matter now. Pure.
 */
export function renderAction(action: ActionAnswer, { now, size, working = [] }: ActionScene): string[] {
  const { groups = [], nodes_by_status: counts } = action;
  const room = Math.max(1, size.rows - frameRows);
  const nodes = renderNodes(working, Math.min(mostNodes, Math.floor(room / 3)));
  return [
    headline(action, now),
    renderSteps(action.steps, size.columns),
    ...(groups.length === 0 ? [] : ['', ...renderGroups(groups, room - nodes.length, size.columns)]),
    ...(nodes.length === 0 ? [] : ['', ...nodes]),
    ...(counts === undefined || groups.length === 0
      ? []
      : [totals(counts, groups, { working, columns: size.columns })]),
  ];
}

/** `✓ preflight  ▶ verify_site  · baremetal_nodes`; where there is no room, what is done is counted. */
function renderSteps(steps: readonly ActionStepAnswer[], columns: number): string {
  const line = (shown: readonly ActionStepAnswer[]): string =>
    shown.map(({ id, state }) => `${stepMarks[state]} ${id}`).join('  ');
  if (line(steps).length < columns) return line(steps);
  const done = steps.filter(({ state }) => state === 'success').length;
  return [...(done > 0 ? [`✓ ${done} done`] : []), line(steps.filter(({ state }) => state !== 'success'))].join('  ');
}

/** `deploy_site 01J…: Processing, revision 3, 4 m 05 s` */
export function headline(action: ActionAnswer, now: Date): string {
  const { name, id, action_lifecycle: state, committed_rev_id: revision, started_at: since, ended_at: end } = action;
  const took = since === null ? '' : `, ${formatDuration(spanMs(since, end, now))}`;
  return `${name} ${id}: ${state}, revision ${revision}${took}${ranBy(action)}`;
}

/** Anyone who looks at night has to see that nobody works on it. */
function ranBy({ ended_at: end, runner }: ActionAnswer): string {
  if (end !== null || runner === undefined) return '';
  if (runner === null) return ', NO CONDUCTOR RUNS IT';
  const { conductor, lease_valid: isValid, lease_expires_at: until } = runner;
  return isValid ? `, run by ${conductor}` : `, ${conductor} IS SILENT since its lease ran out at ${until ?? '?'}`;
}

const statusWords: readonly (readonly [NodeStatus, string])[] = [
  ['success', 'success'],
  ['prepared', 'prepared'],
  ['failure', 'failure'],
  ['not_started', 'not started'],
];

/** `3 success, 1 prepared, 0 failure, 10 not started` */
export function countStatuses(counts: Readonly<Record<NodeStatus, number>>): string {
  return statusWords.map(([status, word]) => `${counts[status]} ${word}`).join(', ');
}

/** A node at work is shown as such, and not as what it was before. */
function withoutWorking(
  counts: Readonly<Record<NodeStatus, number>>,
  working: readonly ActionNodeAnswer[],
): Record<NodeStatus, number> {
  const rest = { ...counts };
  for (const { status } of working) rest[status] = Math.max(0, rest[status] - 1);
  return rest;
}

function totals(
  allCounts: Readonly<Record<NodeStatus, number>>,
  groups: readonly ActionGroupAnswer[],
  { working, columns }: { readonly working: readonly ActionNodeAnswer[]; readonly columns: number },
): string {
  const all = Object.values(allCounts).reduce((sum, each) => sum + each, 0);
  const counts = withoutWorking(allCounts, working);
  const ended = groups.filter(({ stage }) => stage === 'success' || stage === 'failure').length;
  const atWork = working.length === 0 ? '' : `; ${working.length} at work`;
  const line = `groups: ${ended} of ${groups.length} ended; nodes: ${all}: ${countStatuses(counts)}${atWork}`;
  if (line.length < columns) return line;
  // with the marks of the bars
  const { success, prepared, failure, not_started: left } = counts;
  return `groups: ${ended}/${groups.length}; nodes: ${all}: █ ${success} ▒ ${prepared} x ${failure} ░ ${left}${atWork}`;
}

function renderGroups(groups: readonly ActionGroupAnswer[], room: number, columns: number): string[] {
  const tree = treeOfGroups(groups);
  const shown = tree.length <= room ? tree : chooseLines(tree, room - 1);
  // the tree's branches mean nothing where lines are left out
  const title = ({ branch, group }: TreeLine<ActionGroupAnswer>): string =>
    `${shown.length === tree.length ? branch : ''}${group.name}${group.critical ? ' [Critical]' : ''}`;
  const width = Math.max(0, ...shown.map((line) => title(line).length));
  const barWidth = columns < 100 ? 10 : 20;
  const most = Math.max(...shown.map(({ group }) => group.member_count), 0);
  const lines = shown.map((line) => {
    const { group } = line;
    const { member_count: size, nodes_by_status: counts, stage } = group;
    const done = `${String(counts.success).padStart(String(most).length)}/${size}`;
    const head = `${groupMarks[stage]} ${title(line).padEnd(width)}  ${renderBar(group, barWidth)} ${done}`;
    return `${head.padEnd(width + barWidth + 6 + 2 * String(most).length)}  ${remark(group)}`.trimEnd();
  });
  if (shown.length === tree.length) return lines;
  return [...lines, hidden(tree.filter((line) => !shown.includes(line)))];
}

/** At work, failed, next in turn, ended last: as many as there is room for, in the tree's order. */
function chooseLines(tree: readonly TreeLine<ActionGroupAnswer>[], room: number): TreeLine<ActionGroupAnswer>[] {
  const ranks: Readonly<Record<GroupStage, number>> = {
    deploying: 0,
    prepared: 0,
    preparing: 0,
    failure: 1,
    not_started: 2,
    success: 3,
  };
  const stageOf = new Map(tree.map(({ group: { name, stage } }) => [name, stage]));
  const failsByItself = ({ group }: TreeLine<ActionGroupAnswer>): boolean =>
    !group.depends_on.some((name) => stageOf.get(name) === 'failure');
  const chosen = new Set(
    tree
      .toSorted(
        (a, b) => ranks[a.group.stage] - ranks[b.group.stage] || Number(failsByItself(b)) - Number(failsByItself(a)),
      )
      .slice(0, Math.max(0, room)),
  );
  return tree.filter((line) => chosen.has(line));
}

function hidden(lines: readonly TreeLine<ActionGroupAnswer>[]): string {
  const stages = Map.groupBy(lines, ({ group }) => group.stage);
  const each = [...stages].map(([stage, of]) => `${of.length} ${stageWord(stage)}`);
  return `  (${lines.length} more groups: ${each.join(', ')})`;
}

/** `█` deployed, `▒` prepared, `x` failed, `░` nothing yet; what there is of a kind has a cell at least. */
export function renderBar(
  { member_count: size, nodes_by_status: counts }: Pick<ActionGroupAnswer, 'member_count' | 'nodes_by_status'>,
  width: number,
): string {
  if (size === 0) return ' '.repeat(width);
  const cells = (count: number): number => (count === 0 ? 0 : Math.max(1, Math.floor((count / size) * width)));
  const failed = cells(counts.failure);
  const success = Math.min(cells(counts.success), width - failed);
  const prepared = Math.min(cells(counts.prepared), width - failed - success);
  const full = counts.success + counts.failure === size;
  // rounding leaves no hole in what has ended
  const rest = width - failed - success - prepared;
  const done = full && success > 0 ? success + rest : success;
  const bar = `${'█'.repeat(done)}${'▒'.repeat(prepared)}${'x'.repeat(failed)}`;
  return bar.padEnd(width, full && success === 0 ? 'x' : '░');
}

export function stageWord(stage: GroupStage): string {
  return stage.replace('_', ' ');
}

function remark(group: ActionGroupAnswer): string {
  const { stage, reason, working, waiting_for: waits, nodes_by_status: counts } = group;
  if (stage === 'success' && counts.failure === 0) return '';
  const parts = [
    ...(stage === 'success' ? [] : [stageWord(stage)]),
    ...(waits.length > 0 ? [waitsFor(waits)] : []),
    ...(working > 0 ? [`${working} at work`] : []),
    ...(counts.failure > 0 && stage !== 'failure' ? [`${counts.failure} failed`] : []),
  ];
  return `${parts.join(', ')}${reason === null ? '' : `: ${reason}`}`;
}

const mostWaits = 4;

/** `waits for a, b and 3 more` */
function waitsFor(waits: readonly string[]): string {
  const more = waits.length - mostWaits;
  return `waits for ${waits.slice(0, mostWaits).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function renderNodes(working: readonly ActionNodeAnswer[], room: number): string[] {
  const shown = working.slice(0, room);
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, phase, remark: doing }) =>
    `  ${name.padEnd(width)}  ${phase ?? ''}  ${doing ? describeForCli(doing) : ''}`.trimEnd(),
  );
  const more = working.length - shown.length;
  return more > 0 && shown.length > 0 ? [...lines, `  (${more} more nodes at work)`] : lines;
}

/** The plan of a teardown as its operator reads it before: node by node, step by step. Pure. */
export function teardownPlanLines(
  plan: Partial<Pick<ActionDryRun, 'name' | 'committed_rev_id' | 'remarks'>> & {
    readonly nodes: readonly TeardownNodeView[];
  },
): string[] {
  const { name, committed_rev_id: revision, remarks = [], nodes } = plan;
  const head = `${name} from revision ${revision}; nothing has been started`;
  return [head, ...remarks.map((remark) => `  ${remark}`), ...nodes.flatMap(nodeLines)];
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

/** Lists the pods that budgets keep, and those that `kubectl drain` would ask about first. */
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
