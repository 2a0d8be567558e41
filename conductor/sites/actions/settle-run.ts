import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { FlowRequest, FlowState } from '#conductor/model/flows/flow-states.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import type { GateLooks } from '#conductor/model/site/health-gate.ts';
import {
  type Decision,
  type GroupRun,
  groupStages,
  isUnderWay,
  type NodeRun,
  type PhaseTimeouts,
  type SiteRun,
} from '#conductor/model/site/site-run.ts';
import { isFinal } from '#conductor/model/site/transitions.ts';
import { applyDecisions, applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups, hasEnded } from '#conductor/sites/strategy/decide.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const stopReason = 'the action was stopped';

export interface Settled {
  readonly run: SiteRun;
  /** Decisions that were taken, in order. */
  readonly decisions: readonly Decision[];
  /** Nothing is at work, and nothing will be. */
  readonly isOver: boolean;
}

/** The decision function answers nothing once its decisions are applied: more rounds are its fault. */
const maximumRounds = 100;

/**
 * Takes every decision that can be taken now. Held: none that begins something. Aborted: what is at work is broken off,
 * and groups that were begun end as failures once it is at rest; the others stay as they are. Pure.
 * @throws AppError `internal` when the strategy never comes to an end, or stands still before it.
 */
export function settleRun(
  run: SiteRun,
  options: {
    /** The operator's request. */
    readonly request: FlowRequest;
    /** Milliseconds since 1970. */
    readonly now: number;
    readonly timeouts: PhaseTimeouts;
    /** Canaries that are no longer in service, with the reason. */
    readonly outOfService?: ReadonlyMap<string, string>;
    /** Health gates as they were seen. */
    readonly looks?: GateLooks;
    /** Number of times that the operator has asked to go past what is in the groups' way. */
    readonly skips?: number;
  },
): Settled {
  const { request, now, timeouts, outOfService = new Map(), looks = new Map(), skips = 0 } = options;
  if (request === 'abort') return stopRun(run, now);
  const taken: Decision[] = [];
  let settled = run;
  for (let round = 0; ; round += 1) {
    const paused = request === 'hold' || pauseIn(taken) !== undefined;
    const decisions = decideGroups(settled, now, timeouts, { paused, outOfService, looks, skips });
    if (decisions.length === 0) break;
    if (round === maximumRounds) throw new AppError('internal', `decide on groups: no end after ${round} rounds`);
    settled = applyDecisions(settled, decisions, now);
    taken.push(...decisions);
  }
  const rests = isAtRest(settled);
  const isOver = rests && hasEnded(settled);
  const isWaiting = pauseIn(taken) !== undefined || settled.groups.some(({ rollout }) => rollout?.waits !== undefined);
  if (rests && !isOver && !isWaiting && request === 'run') {
    const open = settled.groups.filter(({ stage }) => !isFinal(groupStages, stage));
    const names = open.map(({ definition, stage }) => `${definition.name} (${stage})`).join(', ');
    throw new AppError('internal', `decide on groups: nothing is at work, and these have not ended: ${names}`);
  }
  return { run: settled, decisions: taken, isOver };
}

/** Finds the decision that pauses the action, among those that were taken at once. */
export function pauseIn(decisions: readonly Decision[]): Extract<Decision, { kind: 'pause' }> | undefined {
  return decisions.find((decision) => decision.kind === 'pause');
}

export type WorkingNode = NodeRun & Required<Pick<NodeRun, 'work'>>;

export function workingNodes(run: SiteRun): [name: string, node: WorkingNode][] {
  const working: [string, WorkingNode][] = [];
  // of thousands few are at work, and a rehearsal asks a thousand times
  for (const [name, node] of run.nodes) if (isWorking(node)) working.push([name, node]);
  return working;
}

function isWorking(node: NodeRun): node is WorkingNode {
  return node.work !== undefined;
}

/** Checks whether no node of the run is at work. */
export function isAtRest({ nodes }: Pick<SiteRun, 'nodes'>): boolean {
  for (const node of nodes.values()) if (isWorking(node)) return false;
  return true;
}

function stopRun(run: SiteRun, now: number): Settled {
  const working = workingNodes(run);
  const decisions = working.length > 0 ? breakOff(working) : endGroups(run);
  return { run: applyDecisions(run, decisions, now), decisions, isOver: working.length === 0 };
}

/** A stopped run of whose nodes nothing is heard any more: those at work count as failed, and groups end. Pure. */
export function abandonRun(run: SiteRun, reason: string, now: number): SiteRun {
  const failed = workingNodes(run).map(([name]) => [name, { state: 'failed', error: textRemark(reason) }] as const);
  const atRest = applyOutcomes(run, new Map(failed));
  return applyDecisions(atRest, endGroups(atRest), now);
}

function breakOff(working: readonly [string, WorkingNode][]): Decision[] {
  const left = working.filter(([, { work }]) => work.cancelling === undefined);
  return [...Map.groupBy(left, ([, { work }]) => work.group)].map(([group, nodes]) => ({
    kind: 'cancel',
    group,
    nodes: nodes.map(([name]) => name),
    reason: stopReason,
  }));
}

function endGroups(run: SiteRun): Decision[] {
  return run.groups.filter(isUnderWay).map(({ definition, reason }) => ({
    kind: 'end group',
    group: definition.name,
    stage: 'failure',
    reason: reason ?? stopReason,
    misses: [],
  }));
}

/** A pause counts for no limit: groups and nodes under way get its length added. Pure. */
export function prolongPhases(run: SiteRun, pausedMs: number): SiteRun {
  if (pausedMs === 0) return run;
  const later = (at: number | undefined) => (at === undefined ? undefined : at + pausedMs);
  const groups = run.groups.map((group): GroupRun => {
    if (!isUnderWay(group)) return group;
    const { prepareStartedAt: prepare, deployStartedAt: deploy, rollout, ...rest } = group;
    const { watched } = rollout ?? {};
    const [prepareStartedAt, deployStartedAt] = [later(prepare), later(deploy)];
    return {
      ...rest,
      ...(rollout
        ? { rollout: { ...rollout, ...(watched ? { watched: { ...watched, since: watched.since + pausedMs } } : {}) } }
        : {}),
      ...(prepareStartedAt === undefined ? {} : { prepareStartedAt }),
      ...(deployStartedAt === undefined ? {} : { deployStartedAt }),
    };
  });
  const nodes = new Map(run.nodes);
  for (const [name, { work, ...node }] of workingNodes(run)) {
    const startedAt = later(work.startedAt);
    nodes.set(name, { ...node, work: { ...work, ...(startedAt === undefined ? {} : { startedAt }) } });
  }
  return { ...run, groups, nodes };
}

/** Judges what an action comes to, or has come to before the steps that close it. Pure. */
export function judgeSteps(
  steps: readonly Pick<FlowStepRow, 'state' | 'step' | 'error'>[],
  { state, isStopped }: { readonly state: FlowState; readonly isStopped: boolean },
): { readonly state: 'succeeded' | 'failed' | 'aborted'; readonly error: string | null } {
  const failed = steps.find((step) => step.state === 'failed');
  if (state === 'running' && failed === undefined) return { state: 'succeeded', error: null };
  if (isStopped) return { state: 'aborted', error: stopReason };
  return { state: 'failed', error: failed ? `${failed.step}: ${failed.error ?? 'failed'}` : 'not all steps ran' };
}
