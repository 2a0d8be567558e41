import type { Remark } from '#conductor/model/remarks/remark.ts';
import { obstacleOf, type Rollout } from '#conductor/model/site/rollout.ts';
import {
  type Decision,
  type GroupRun,
  groupStages,
  type NodeOutcome,
  type NodePhase,
  type NodeRun,
  nodePhases,
  type SiteRun,
} from '#conductor/model/site/site-run.ts';
import { requireTransition } from '#conductor/model/site/transitions.ts';
import { wasDeployedBefore } from '#conductor/sites/strategy/rollout/begun-here.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The run after these decisions, in their order.
 * @param now as `decideGroups` was given it
 */
export function applyDecisions(run: SiteRun, decisions: readonly Decision[], now: number): SiteRun {
  if (decisions.length === 0) return run;
  const draft = draftOf(run);
  for (const decision of decisions) applyToDraft(draft, decision, now);
  return finishDraft(draft);
}

/** The run after what has become of nodes at work; of a node that is not at work nothing is believed. */
export function applyOutcomes(run: SiteRun, outcomes: ReadonlyMap<string, NodeOutcome>): SiteRun {
  const draft = draftOf(run);
  for (const [name, outcome] of outcomes) {
    const node = nodeOf(draft, name);
    const after = nodeAfter(node, outcome);
    if (after !== node) draft.changed.set(name, after);
  }
  return draft.changed.size === 0 ? run : finishDraft(draft);
}

/**
 * A node after what has become of its work: unchanged while that goes on. One that was done before it could be broken
 * off is done: its group fails all the same, but what is deployed is not called a failure.
 */
function nodeAfter(node: NodeRun, outcome: NodeOutcome): NodeRun {
  if (!node.work || outcome.state === 'working') return node;
  const { phase, group } = node.work;
  const status = nodePhases[phase][outcome.state];
  if (outcome.state === 'failed') {
    return { status, reason: outcome.error, ...(phase === 'deploy' ? { preparedFor: group } : {}) };
  }
  return { status, ...(outcome.remark === undefined ? {} : { reason: outcome.remark }) };
}

/** A run that is being changed: what has changed lies over the stored one, which is not copied for a few nodes of many. */
export interface RunDraft {
  readonly run: SiteRun;
  /** All of them, as they are now, in the run's order. */
  readonly groups: GroupRun[];
  readonly places: ReadonlyMap<string, number>;
  /** Only nodes that have changed. */
  readonly changed: Map<string, NodeRun>;
}

export function draftOf(run: SiteRun): RunDraft {
  const places = new Map(run.groups.map(({ definition }, index) => [definition.name, index]));
  return { run, groups: [...run.groups], places, changed: new Map() };
}

/** @throws AppError `internal` for a node that is none of the run's */
export function nodeOf({ run, changed }: RunDraft, name: string): NodeRun {
  const node = changed.get(name) ?? run.nodes.get(name);
  if (!node) throw new AppError('internal', `node ${name}: this deployment has no node of that name`);
  return node;
}

/** @throws AppError `internal` for a group that is none of the run's */
export function groupOf({ groups, places }: RunDraft, name: string): GroupRun {
  const group = groups[places.get(name) ?? -1];
  if (!group) throw new AppError('internal', `group ${name}: this deployment has no group of that name`);
  return group;
}

/**
 * Applies a decision to the run.
 * @param now milliseconds since 1970
 * @throws AppError `internal` for a stage that cannot follow the group's, or a phase that cannot take the node
 */
export function applyToDraft(draft: RunDraft, decision: Decision, now: number): void {
  const group = groupOf(draft, decision.group);
  const change = (more: Partial<GroupRun>): void => {
    if (more.stage !== undefined) requireTransition(groupStages, group.stage, more.stage);
    draft.groups[draft.places.get(decision.group) ?? -1] = { ...group, ...more };
  };
  switch (decision.kind) {
    case 'enter stage': {
      const { stage } = decision;
      const preparing = stage === 'preparing' ? { prepareStartedAt: now } : {};
      const prepared = stage === 'prepared' ? { preparedAt: now } : {};
      change({ stage, ...preparing, ...prepared, ...(stage === 'deploying' ? { deployStartedAt: now } : {}) });
      return;
    }
    case 'end group': {
      const { stage, reason, misses } = decision;
      change({
        stage,
        misses,
        ...(reason === undefined ? {} : { reason }),
        ...changeRollout(group, { waits: undefined }),
      });
      for (const name of group.members) {
        const node = nodeOf(draft, name);
        // the end of a run does not make less of what was deployed before it
        if (node.status === 'prepared' && wasDeployedBefore(node))
          draft.changed.set(name, { ...node, status: 'success' });
      }
      return;
    }
    case 'begin': {
      const work = { phase: decision.phase, group: decision.group, startedAt: now };
      for (const name of decision.nodes) draft.changed.set(name, { ...nodeToBegin(draft, name, decision.phase), work });
      return;
    }
    case 'cancel': {
      if (decision.sparesGroup !== true) change({ reason: group.reason ?? decision.reason });
      for (const name of decision.nodes) {
        const node = nodeOf(draft, name);
        if (node.work) {
          draft.changed.set(name, { ...node, work: { ...node.work, cancelling: decision.reason } });
        }
      }
      return;
    }
    case 'canaries': {
      const watched = decision.are === 'passed' ? undefined : { nodes: decision.nodes, since: now };
      change(changeRollout(group, watched ? { watched } : { watched, canariesPassed: true }));
      return;
    }
    case 'settled': {
      change(changeRollout(group, { settled: { nodes: decision.nodes, at: now } }));
      return;
    }
    case 'skip': {
      change(changeRollout(group, { skips: decision.skips, ...(decision.past ? skipPast(group, decision.past) : {}) }));
      return;
    }
    case 'wait': {
      change(changeRollout(group, { waits: decision.reason }));
      return;
    }
    case 'pause': {
      const failed = group.members.filter((name) => nodeOf(draft, name).status === 'failure');
      const lost = decision.lost === undefined ? [] : [decision.lost];
      const excused = [...new Set([...(group.rollout?.excused ?? []), ...failed, ...lost])];
      // until it goes on, that is what is in the group's way
      const waits = obstacleOf({ waits: decision.reason });
      change(changeRollout(group, { excused, watched: undefined, ...(waits ? { waits } : {}) }));
      return;
    }
    default:
      decision satisfies never;
  }
}

/** Takes an obstacle out of the group's way, for the rest of the action. */
function skipPast({ rollout }: GroupRun, { code, arguments: { gate } }: Remark): RolloutChange {
  const waits = { waits: undefined };
  if (code === 'rollout-window') return { ...waits, windowSkipped: true };
  if (typeof gate !== 'string') return { ...waits, watched: undefined, canariesPassed: true };
  return { ...waits, skippedGates: [...new Set([...(rollout?.skippedGates ?? []), gate])] };
}

type RolloutChange = { readonly [Key in keyof Rollout]?: Rollout[Key] | undefined };

/** The group's rollout with the change; `undefined` takes a value away. */
function changeRollout({ rollout }: GroupRun, more: RolloutChange): Pick<GroupRun, 'rollout'> {
  if (!rollout) return {};
  const entries = Object.entries({ ...rollout, ...more }).filter(([, value]) => value !== undefined);
  return { rollout: { domains: rollout.domains, excused: rollout.excused, ...Object.fromEntries(entries) } };
}

function nodeToBegin(draft: RunDraft, name: string, phase: NodePhase): NodeRun {
  const node = nodeOf(draft, name);
  if (node.status === nodePhases[phase].takes && node.work === undefined) return node;
  throw new AppError('internal', `begin to ${phase} node ${name}: it is ${node.work?.phase ?? node.status}`);
}

/** The run with the changes; the old one stays as it was. */
function finishDraft({ run, groups, changed }: RunDraft): SiteRun {
  if (changed.size === 0) return { ...run, groups };
  const nodes = new Map(run.nodes);
  for (const [name, node] of changed) nodes.set(name, node);
  return { ...run, groups, nodes };
}
