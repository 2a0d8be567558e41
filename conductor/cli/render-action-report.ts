import type { ActionAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { describeForCli } from '#conductor/cli/cli-words.ts';
import { isReport, noteLines } from '#conductor/cli/describe-action-changes.ts';
import { countStatuses, headline, stageWord } from '#conductor/cli/render-action.ts';
import { describeOutdated } from '#conductor/model/outdated.ts';
import { concludeGroups, conclusions, describeNothingToDeploy } from '#conductor/model/site-report.ts';
import type { NodeStatus } from '#conductor/model/site-run.ts';

const mostFailures = 50;
const mostNames = 40;

/**
 * The report that seed 000 asks for at the end: groups with their end and its reason, nodes by status, also those left
 * `not started` and `prepared`, and what it comes to. Pure.
 */
export function renderActionReport(action: ActionAnswer, nodes: readonly ActionNodeAnswer[], now: Date): string[] {
  const { groups = [], nodes_by_status: counts } = action;
  const lines = groups.map(({ name, critical, stage, reason }) => {
    const end = stage === 'success' || stage === 'failure' ? 'ended with stage' : 'is left with stage';
    return `Group ${name}${critical ? ' [Critical]' : ''} ${end}: ${stageWord(stage)}${reason === null ? '' : `: ${reason}`}`;
  });
  const ofNodes = counts === undefined || groups.length === 0 ? [] : [`Nodes: ${countStatuses(counts)}`];
  const byStatus = Map.groupBy(nodes, ({ status }) => status);
  const failures = (byStatus.get('failure') ?? []).slice(0, mostFailures);
  return [
    ...lines,
    ...ofNodes,
    ...failures.map(({ name, remark }) => `  failure: ${name}${remark ? `: ${describeForCli(remark)}` : ''}`),
    ...(failures[0] && groups.length > 0 ? [`  → baton history ${failures[0].name} shows what was done to it`] : []),
    ...moreOf('failure', (byStatus.get('failure')?.length ?? 0) - failures.length, action.id),
    ...leftToDo(action, nodes),
    ...namesOf('prepared', byStatus, action.id),
    ...namesOf('not_started', byStatus, action.id),
    ...describeOutdated(nodes),
    ...nothingDeployed(action),
    `${headline(action, now)}: ${concludeAction(action)}`,
  ];
}

/** Of an action that deploys by groups, and has had its way. */
function nothingDeployed({
  action_lifecycle: state,
  steps,
  groups = [],
  nodes_by_status: counts,
}: ActionAnswer): string[] {
  if (state !== 'Complete' || !counts || steps.every(({ id }) => id !== 'baremetal_nodes')) return [];
  const nodes = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return describeNothingToDeploy({ groups: groups.length, nodes });
}

/** Of nodes that were torn down half way: what was done, and what a person has to do. */
function leftToDo({ steps }: ActionAnswer, nodes: readonly ActionNodeAnswer[]): string[] {
  const names = new Set(nodes.map(({ name }) => name));
  const notes = steps.filter(isReport).flatMap((step) => step.notes);
  return notes
    .filter(({ subject, verbosity }) => subject !== null && names.has(subject) && verbosity === 1)
    .flatMap(noteLines)
    .map((line) => `  ${line}`);
}

/** `success with some nodes/groups failed`, `failed due to critical group failed`, or why it came to no end of its own. */
export function concludeAction(action: ActionAnswer): string {
  const { groups = [], nodes_by_status: counts, error, action_lifecycle: state } = action;
  const outcome = concludeGroups(groups, counts?.failure ?? 0);
  if (state === 'Complete') return conclusions[outcome];
  const isCritical = state === 'Failed' && outcome === 'failure';
  return (
    [...(isCritical ? [conclusions.failure] : []), ...(error === null ? [] : [error])].join('; ') || state.toLowerCase()
  );
}

function namesOf(
  status: NodeStatus,
  nodes: ReadonlyMap<NodeStatus, readonly ActionNodeAnswer[]>,
  actionId: string,
): string[] {
  const all = nodes.get(status) ?? [];
  if (all.length === 0) return [];
  const names = all.slice(0, mostNames).map(({ name }) => name);
  return [`  ${status.replace('_', ' ')}: ${names.join(', ')}`, ...moreOf(status, all.length - names.length, actionId)];
}

function moreOf(status: NodeStatus, count: number, actionId: string): string[] {
  return count > 0 ? [`  ${count} more: baton action nodes ${actionId} --status ${status}`] : [];
}
