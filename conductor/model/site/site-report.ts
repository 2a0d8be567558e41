import {
  type GroupRun,
  type GroupStage,
  groupStages,
  type Miss,
  type NodeStatus,
  type SiteRun,
} from '#conductor/model/site/site-run.ts';
import { isFinal } from '#conductor/model/site/transitions.ts';

/** One thing that is wrong, or worth knowing, in a site's documents: Shipyard's ValidationMessage, in our words. */
export interface SiteFault {
  readonly level: 'Error' | 'Warning' | 'Info';
  /** Short and stable, for programs: `DuplicateGroup`, `DependencyCycle`. */
  readonly name: string;
  /** The fault, and what would be right. */
  readonly message: string;
  /** The rule that was broken, where the message also repeats the value: faults with the same rule are the same. */
  readonly rule?: string;
  /** The document; absent = the site as a whole. */
  readonly document?: { readonly schema: string; readonly name: string; readonly collection?: string };
  /** Within it: `data.groups[2].success_criteria.percent_successful_nodes`. */
  readonly path?: string;
}

/** Lists the errors, without what is only worth knowing. Pure. */
export function errorsIn(faults: readonly SiteFault[]): string[] {
  return faults.filter(({ level }) => level === 'Error').map(({ message }) => message);
}

/** The seed's final report: what has become of groups and nodes. Also of a run that has not ended. */
export interface SiteReport {
  /** In the run's order. */
  readonly groups: readonly GroupReport[];
  /** Each node once; also those that were never attempted, and those that were prepared and not deployed. */
  readonly nodes: Readonly<Record<NodeStatus, readonly string[]>>;
  /** Failed by a phase, an end of time or a dependency: any of them fails the whole. */
  readonly failedCritical: readonly string[];
  readonly outcome: 'unfinished' | 'success' | 'success with failures' | 'failure';
  /** The seed's last line: `success with some nodes/groups failed`. */
  readonly conclusion: string;
}

export interface GroupReport {
  readonly name: string;
  readonly critical: boolean;
  readonly stage: GroupStage;
  readonly reason?: string;
  readonly misses: readonly Miss[];
  readonly nodes: Readonly<Record<NodeStatus, number>>;
  /** Outcome of preparing, as in the seed's worked examples: `SUCCESS`, `FAILED, due to prepare failure`. */
  readonly prepare: string;
  readonly deploy: string;
}

export function reportSite(run: SiteRun): SiteReport {
  const groups = run.groups.map((group) => reportGroup(run, group));
  const nodes: Record<NodeStatus, string[]> = { not_started: [], prepared: [], success: [], failure: [] };
  for (const [name, { status }] of run.nodes) nodes[status].push(name);
  const failedCritical = groups.filter(({ stage, critical }) => critical && stage === 'failure');
  const outcome = concludeGroups(groups, nodes.failure.length);
  return {
    groups,
    nodes,
    failedCritical: failedCritical.map(({ name }) => name),
    outcome,
    conclusion: conclusions[outcome],
  };
}

/** The seed's last lines. */
export const conclusions: Readonly<Record<SiteReport['outcome'], string>> = {
  unfinished: 'not finished',
  success: 'success',
  'success with failures': 'success with some nodes/groups failed',
  failure: 'failed due to critical group failed',
};

/**
 * Describes a run that has no node at all, because its success says nothing of a site; nothing for a run that has some.
 * Pure.
 */
export function describeNothingToDeploy({
  groups,
  nodes,
}: {
  readonly groups: number;
  readonly nodes: number;
}): string[] {
  if (nodes > 0) return [];
  const why =
    groups === 0
      ? 'the strategy of the documents has no groups'
      : 'no group of the strategy has a node of the documents (baton site groups shows them)';
  return [`Warning there was nothing to deploy: ${why}`];
}

/** Computes a run's outcome: any critical group that failed, by a dependency too, fails the whole. */
export function concludeGroups(
  groups: readonly Pick<GroupReport, 'stage' | 'critical'>[],
  failedNodes: number,
): SiteReport['outcome'] {
  if (groups.some(({ stage, critical }) => critical && stage === 'failure')) return 'failure';
  if (groups.some(({ stage }) => !isFinal(groupStages, stage))) return 'unfinished';
  return failedNodes > 0 || groups.some(({ stage }) => stage === 'failure') ? 'success with failures' : 'success';
}

function reportGroup(run: SiteRun, group: GroupRun): GroupReport {
  const { definition, members, stage, reason, misses } = group;
  const nodes: Record<NodeStatus, number> = { not_started: 0, prepared: 0, success: 0, failure: 0 };
  for (const name of members) nodes[run.nodes.get(name)?.status ?? 'not_started'] += 1;
  const { name, critical } = definition;
  return {
    name,
    critical,
    stage,
    ...(reason === undefined ? {} : { reason }),
    misses,
    nodes,
    ...describePhases(group),
  };
}

function describePhases({
  stage,
  prepareStartedAt,
  preparedAt,
  deployStartedAt,
}: GroupRun): Pick<GroupReport, 'prepare' | 'deploy'> {
  if (stage === 'failure') {
    if (prepareStartedAt === undefined) return { prepare: dependency, deploy: dependency };
    if (deployStartedAt !== undefined) return { prepare: 'SUCCESS', deploy: 'FAILED' };
    // stopped in between
    if (preparedAt !== undefined) return { prepare: 'SUCCESS', deploy: 'not started' };
    return { prepare: 'FAILED', deploy: 'FAILED, due to prepare failure' };
  }
  if (stage === 'not_started') return { prepare: 'not started', deploy: 'not started' };
  if (stage === 'preparing') return { prepare: 'under way', deploy: 'not started' };
  return {
    prepare: 'SUCCESS',
    deploy: stage === 'success' ? 'SUCCESS' : stage === 'prepared' ? 'not started' : 'under way',
  };
}

const dependency = 'FAILED, due to dependency';
