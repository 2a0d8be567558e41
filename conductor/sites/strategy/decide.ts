import type { GateLooks } from '#conductor/model/site/health-gate.ts';
import { obstacleOf } from '#conductor/model/site/rollout.ts';
import {
  type Decision,
  type GroupRun,
  groupStages,
  isUnderWay,
  type PhaseTimeouts,
  type SiteRun,
} from '#conductor/model/site/site-run.ts';
import { isFinal } from '#conductor/model/site/transitions.ts';
import { advanceGroup } from '#conductor/sites/strategy/advance-group.ts';
import { applyToDraft, draftOf, groupOf, type RunDraft } from '#conductor/sites/strategy/apply-decisions.ts';

export interface DecideOptions {
  /** Nothing new is begun and no group's time runs out; what is at work goes on, and is judged when it rests. */
  readonly paused?: boolean;
  /** Canaries that are watched and are no longer in service, with the reason. */
  readonly outOfService?: ReadonlyMap<string, string>;
  /** Health gates as they were seen; one without a look is not good. */
  readonly looks?: GateLooks;
  /** Number of times that an operator has asked so far to go past what is in the groups' way. */
  readonly skips?: number;
}

/**
 * Decides what is to happen now in a site's deployment: the group deployment manager of seed 000 ("Process"), as
 * DESIGN.md settles it. Plain values in and out, no memory: asked again with the decisions applied it answers nothing,
 * until a node's work has ended or a time has run out. The decisions hold in their order; all of them belong together.
 *
 * A group begins when all that it depends on have succeeded and a slot is free, and fails as soon as one of them has
 * failed. A run has ended when each group is `success` or `failure`.
 * @param now milliseconds since 1970
 */
export function decideGroups(
  run: SiteRun,
  now: number,
  timeouts: PhaseTimeouts,
  { paused = false, outOfService = new Map(), looks = new Map(), skips = 0 }: DecideOptions = {},
): Decision[] {
  const draft = draftOf(run);
  const decisions: Decision[] = [];
  const emit = (decision: Decision): void => {
    applyToDraft(draft, decision, now);
    decisions.push(decision);
    if (decision.kind === 'pause') scene.paused = true;
  };
  const scene = { draft, now, timeouts, paused, outOfService, looks, emit };
  if (!paused) followSkips(draft, skips, emit);
  for (let known = -1; known < decisions.length; ) {
    known = decisions.length;
    for (const { definition } of draft.run.groups) {
      if (isUnderWay(groupOf(draft, definition.name))) advanceGroup(scene, definition.name);
    }
    failDependants(draft, emit);
    // a group that has ended at once has left its slot
    for (const { definition } of draft.run.groups) {
      if (scene.paused || !mayBegin(draft, groupOf(draft, definition.name))) continue;
      emit({ kind: 'enter stage', group: definition.name, stage: 'preparing' });
      advanceGroup(scene, definition.name);
    }
  }
  return decisions;
}

/** No group is left that something could still become of. */
export function hasEnded(run: SiteRun): boolean {
  return run.groups.every(({ stage }) => isFinal(groupStages, stage));
}

/** Has groups follow new skips; a group that begins later follows none of those before. */
function followSkips(draft: RunDraft, skips: number, emit: (decision: Decision) => void): void {
  for (const group of draft.groups) {
    const { rollout, definition } = group;
    if (!rollout || (rollout.skips ?? 0) >= skips || isFinal(groupStages, group.stage)) continue;
    const past = isUnderWay(group) ? obstacleOf(rollout) : undefined;
    emit({ kind: 'skip', group: definition.name, skips, ...(past ? { past } : {}) });
  }
}

function mayBegin(draft: RunDraft, { definition, stage }: GroupRun): boolean {
  return (
    stage === 'not_started' &&
    definition.depends_on.every((name) => groupOf(draft, name).stage === 'success') &&
    draft.groups.filter(isUnderWay).length < draft.run.maxParallelGroups
  );
}

/** Through the whole graph at once: groups stand behind what they depend on. */
function failDependants(draft: RunDraft, emit: (decision: Decision) => void): void {
  for (const { definition, stage } of draft.groups) {
    if (stage !== 'not_started') continue;
    const failed = definition.depends_on.filter((name) => groupOf(draft, name).stage === 'failure');
    if (failed.length === 0) continue;
    const reason = `due to dependency: ${failed.join(', ')} failed`;
    emit({ kind: 'end group', group: definition.name, stage: 'failure', reason, misses: [] });
  }
}
