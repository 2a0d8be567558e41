import { isDeepStrictEqual } from 'node:util';
import type { GateLooks } from '#conductor/model/site/health-gate.ts';
import { isRolledOut } from '#conductor/model/site/rollout.ts';
import {
  type Decision,
  type GroupDefinition,
  type GroupRun,
  groupStages,
  type NodePhase,
  type NodeRun,
  type PhaseTimeouts,
} from '#conductor/model/site/site-run.ts';
import { isFinal } from '#conductor/model/site/transitions.ts';
import { groupOf, nodeOf, type RunDraft } from '#conductor/sites/strategy/apply-decisions.ts';
import { endedHere, lookAtGates } from '#conductor/sites/strategy/rollout/look-at-gates.ts';
import { takeTurns } from '#conductor/sites/strategy/rollout/take-turns.ts';
import { whyPause } from '#conductor/sites/strategy/rollout/why-pause.ts';
import { describeMisses, judgeCriteria, type Tally } from '#conductor/sites/strategy/success-criteria.ts';

/** Values that a group is decided on with. */
interface Scene {
  readonly draft: RunDraft;
  readonly now: number;
  readonly timeouts: PhaseTimeouts;
  readonly paused: boolean;
  readonly outOfService: ReadonlyMap<string, string>;
  readonly looks: GateLooks;
  /** Notes a decision, which holds from then on. */
  readonly emit: (decision: Decision) => void;
}

/** A group whose turn it is, through as many stages as it can pass now. */
export function advanceGroup(scene: Scene, name: string): void {
  const group = groupOf(scene.draft, name);
  const survey = surveyMembers(scene.draft, group);
  breakOff(scene, group, survey);
  pauseAfterFailures(scene, group);
  // breaking off has changed both
  if (groupOf(scene.draft, name).reason !== undefined) endTimedOut(scene, name);
  else if (group.stage === 'preparing') prepare(scene, group, survey);
  else if (group.stage === 'prepared') enterDeploying(scene, name);
  else deploy(scene, group, survey);
}

function prepare(scene: Scene, group: GroupRun, survey: MemberSurvey): void {
  const { name } = group.definition;
  const { untouched, ownPrepares, othersPrepare, ownDeploys, cancelling } = survey;
  if (untouched.length + ownPrepares.length + othersPrepare + cancelling > 0) {
    begin(scene, group, survey);
    return;
  }
  const tally = { members: group.members.length, succeeded: survey.havePrepared };
  const misses = judgeCriteria(group.definition.success_criteria, tally);
  if (misses.length === 0) {
    scene.emit({ kind: 'enter stage', group: name, stage: 'prepared' });
    enterDeploying(scene, name);
    return;
  }
  // of nodes that were deployed as they were prepared nothing runs on behind a group that has ended
  if (ownDeploys.length > 0) return;
  endMissed(scene, name, { phase: 'prepare', tally });
}

function enterDeploying(scene: Scene, name: string): void {
  if (scene.paused) return;
  scene.emit({ kind: 'enter stage', group: name, stage: 'deploying' });
  advanceGroup(scene, name);
}

function deploy(scene: Scene, group: GroupRun, survey: MemberSurvey): void {
  const { name, success_criteria: criteria } = group.definition;
  const { prepared, ownDeploys, othersDeploy, cancelling } = survey;
  if (prepared.length + ownDeploys.length + othersDeploy + cancelling > 0) {
    begin(scene, group, survey);
    return;
  }
  const tally = { members: group.members.length, succeeded: survey.haveSucceeded };
  if (judgeCriteria(criteria, tally).length > 0) endMissed(scene, name, { phase: 'deploy', tally });
  else if (isHealthy(scene, group)) scene.emit({ kind: 'end group', group: name, stage: 'success', misses: [] });
}

/** Whether the gates let a group that has begun nodes be a success; else it waits for them, or the action pauses. */
function isHealthy({ draft, now, paused, looks, emit }: Scene, group: GroupRun): boolean {
  const { rollout, definition } = group;
  const nodes = (name: string): NodeRun => nodeOf(draft, name);
  if (!rollout || definition.health === undefined || endedHere(group, nodes) === 0) return true;
  if (paused) return false;
  const { verdict, decisions } = lookAtGates({ group, rollout, nodeOf: nodes, now, looks });
  for (const decision of decisions) emit(decision);
  if (verdict.isGood) return true;
  const { why: reason, pauses } = verdict;
  if (pauses) emit({ kind: 'pause', group: definition.name, reason });
  else if (!isDeepStrictEqual(rollout.waits, reason)) emit({ kind: 'wait', group: definition.name, reason });
  return false;
}

/** Pauses the action where more would follow; without that the group's criteria say the same at its end. */
function pauseAfterFailures({ draft, paused, emit }: Scene, group: GroupRun): void {
  if (paused || !group.rollout || groupOf(draft, group.definition.name).reason !== undefined) return;
  const reason = whyPause(group, (name) => nodeOf(draft, name));
  if (!reason) return;
  const isLeft = ({ status, work }: NodeRun): boolean =>
    work === undefined && (status === 'not_started' || status === 'prepared');
  const isMoreLeft = draft.groups.some(
    ({ stage, members }) => !isFinal(groupStages, stage) && members.some((name) => isLeft(nodeOf(draft, name))),
  );
  if (isMoreLeft) emit({ kind: 'pause', group: group.definition.name, reason });
}

/** Nodes whose turn it is, and the decisions that go with it. */
function mayPrepare(
  { draft, now, outOfService, looks, emit }: Scene,
  group: GroupRun,
  survey: MemberSurvey,
): readonly string[] {
  if (!group.rollout || !isRolledOut(group.definition)) return survey.untouched;
  const nodes = (name: string): NodeRun => nodeOf(draft, name);
  const turns = takeTurns({ group, rollout: group.rollout, nodeOf: nodes, now, outOfService, looks });
  for (const decision of turns.decisions) emit(decision);
  return turns.nodes;
}

/** Begins what may be begun now within the group's limit; what is prepared is finished first. */
function begin(scene: Scene, group: GroupRun, survey: MemberSurvey): void {
  const { emit } = scene;
  const { definition, stage } = group;
  if (scene.paused || survey.cancelling > 0) return;
  const { name, max_parallel_nodes: limit = Number.POSITIVE_INFINITY } = definition;
  let free = limit - survey.ownPrepares.length - survey.ownDeploys.length;
  const beginSome = (phase: NodePhase, waiting: readonly string[]): void => {
    const nodes = waiting.slice(0, Math.max(0, free));
    free -= nodes.length;
    if (nodes.length > 0) emit({ kind: 'begin', group: name, phase, nodes });
  };
  if (stage === 'deploying' || deploysAsPrepared(definition)) beginSome('deploy', survey.prepared);
  if (stage === 'preparing') beginSome('prepare', mayPrepare(scene, group, survey));
}

function deploysAsPrepared(definition: GroupDefinition): boolean {
  return definition.deploy_as_prepared === true || isRolledOut(definition);
}

/** Whether its nodes queue: each has its phase's time from its own beginning. */
function hasQueue(definition: GroupDefinition): boolean {
  return definition.max_parallel_nodes !== undefined || isRolledOut(definition);
}

/**
 * Breaks off a phase whose time has run out. What other groups do on shared nodes is theirs, and bounded by their time.
 * Deploys that began while others were still prepared have both phases' time. Where nodes queue for a limit, each has
 * its phase's time from its own beginning, and the queue has none: it moves on as they end.
 */
function breakOff(scene: Scene, group: GroupRun, survey: MemberSurvey): void {
  const { draft, now, paused, timeouts, emit } = scene;
  const { definition, prepareStartedAt = now, deployStartedAt } = group;
  const { name } = definition;
  const prepareSeconds = definition.prepare_timeout ?? timeouts.prepare;
  const deploySeconds = (definition.deploy_timeout ?? timeouts.deploy) + (timeouts.service ?? 0);
  if (paused) return;
  const cancel = (phase: NodePhase, seconds: number, nodes: readonly string[], waiting: number): void => {
    const begun = nodes.length === 0 ? '' : `${nodes.length} still at work`;
    const rest = waiting === 0 ? '' : `${waiting} not begun`;
    const counts = [begun, rest].filter((text) => text !== '').join(', ');
    const reason = `${phase}: not finished within ${seconds} s (${counts})`;
    emit({ kind: 'cancel', group: name, nodes, reason, ...(isRolledOut(definition) ? { sparesGroup: true } : {}) });
  };
  if (hasQueue(definition)) {
    const late = (names: readonly string[], seconds: number): string[] =>
      names.filter((each) => now >= (nodeOf(draft, each).work?.startedAt ?? now) + seconds * 1000);
    const prepares = late(survey.ownPrepares, prepareSeconds);
    if (prepares.length > 0) cancel('prepare', prepareSeconds, prepares, survey.untouched.length);
    const deploys = late(survey.ownDeploys, deploySeconds);
    const idle = survey.prepared.length;
    if (deploys.length > 0) cancel('deploy', deploySeconds, deploys, idle);
    return;
  }
  const waiting = group.reason === undefined;
  const prepareEnd = prepareStartedAt + prepareSeconds * 1000;
  const left = waiting && group.stage === 'preparing' ? survey.untouched.length : 0;
  if (now >= prepareEnd && survey.ownPrepares.length + left > 0) {
    cancel('prepare', prepareSeconds, survey.ownPrepares, left);
  }
  const deployEnd = (deployStartedAt ?? prepareEnd) + deploySeconds * 1000;
  const idle = waiting && group.stage === 'deploying' ? survey.prepared.length : 0;
  if (now >= deployEnd && survey.ownDeploys.length + idle > 0) {
    cancel('deploy', deploySeconds, survey.ownDeploys, idle);
  }
}

/** A time that ran out is the group's failure, whatever its criteria (seed 000, "Notes"); all it began rests by then. */
function endTimedOut({ draft, emit }: Scene, name: string): void {
  const group = groupOf(draft, name);
  const survey = surveyMembers(draft, group);
  if (survey.cancelling + survey.ownPrepares.length + survey.ownDeploys.length > 0) return;
  const succeeded = group.stage === 'deploying' ? survey.haveSucceeded : survey.havePrepared;
  const misses = judgeCriteria(group.definition.success_criteria, { members: group.members.length, succeeded });
  const { reason } = group;
  emit({ kind: 'end group', group: name, stage: 'failure', misses, ...(reason === undefined ? {} : { reason }) });
}

function endMissed({ draft, emit }: Scene, name: string, { phase, tally }: { phase: NodePhase; tally: Tally }): void {
  const misses = judgeCriteria(groupOf(draft, name).definition.success_criteria, tally);
  const reason = `${phase}: ${describeMisses(misses, tally)}`;
  emit({ kind: 'end group', group: name, stage: 'failure', reason, misses });
}

/** How a group's members stand; each list in the members' order. */
interface MemberSurvey {
  /** Not attempted, and nobody works on them. */
  readonly untouched: readonly string[];
  /** Prepared, and nobody works on them. */
  readonly prepared: readonly string[];
  /** At work for this group, and not being broken off. */
  readonly ownPrepares: readonly string[];
  readonly ownDeploys: readonly string[];
  /** For this group, being broken off. */
  readonly cancelling: number;
  /** At work for another group. */
  readonly othersPrepare: number;
  readonly othersDeploy: number;
  /**
   * Are prepared, or more. A deploy that failed takes that only from other groups: a group that deploys nodes as they are
   * prepared would else find its prepare missed by its deploys.
   */
  readonly havePrepared: number;
  readonly haveSucceeded: number;
}

function surveyMembers(draft: RunDraft, { definition, members }: GroupRun): MemberSurvey {
  const lists = { untouched: [], prepared: [], ownPrepares: [], ownDeploys: [] } as Record<
    'untouched' | 'prepared' | 'ownPrepares' | 'ownDeploys',
    string[]
  >;
  const counts = { cancelling: 0, othersPrepare: 0, othersDeploy: 0, havePrepared: 0, haveSucceeded: 0 };
  for (const name of members) {
    const { status, work, preparedFor } = nodeOf(draft, name);
    if (status === 'success') counts.haveSucceeded += 1;
    if (status === 'success' || status === 'prepared' || preparedFor === definition.name) counts.havePrepared += 1;
    if (work === undefined) {
      if (status === 'not_started') lists.untouched.push(name);
      else if (status === 'prepared') lists.prepared.push(name);
    } else if (work.group !== definition.name) {
      counts[work.phase === 'prepare' ? 'othersPrepare' : 'othersDeploy'] += 1;
    } else if (work.cancelling !== undefined) counts.cancelling += 1;
    else lists[work.phase === 'prepare' ? 'ownPrepares' : 'ownDeploys'].push(name);
  }
  return { ...lists, ...counts };
}
