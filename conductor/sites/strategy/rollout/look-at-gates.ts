import type { GateLooks, HealthGate } from '#conductor/model/site/health-gate.ts';
import type { Rollout } from '#conductor/model/site/rollout.ts';
import {
  type Decision,
  type GroupRun,
  isUnderWay,
  type NodeRun,
  type SiteRun,
} from '#conductor/model/site/site-run.ts';
import { hasEnded, isBegunHere, isUntouched } from '#conductor/sites/strategy/rollout/begun-here.ts';
import { type GateVerdict, judgeGates } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import { isClosed } from '#conductor/sites/strategy/rollout/window.ts';

/** A group under way, as its health gates see it. */
export interface GateScene {
  readonly group: GroupRun;
  readonly rollout: Rollout;
  readonly nodeOf: (name: string) => NodeRun;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly looks: GateLooks;
}

/**
 * Judges the gates of a group now. Pure.
 * @returns decisions: that nodes have come to an end since, from which on the gates are held
 */
export function lookAtGates({ group, rollout, nodeOf, now, looks }: GateScene): {
  readonly verdict: GateVerdict;
  readonly decisions: readonly Decision[];
} {
  const { name } = group.definition;
  const gates = gatesLeft(group);
  if (gates.length === 0) return { verdict: { isGood: true }, decisions: [] };
  const ended = endedHere(group, nodeOf);
  const hasChanged = ended !== (rollout.settled?.nodes ?? 0);
  const settledAt = hasChanged ? now : rollout.settled?.at;
  const verdict = judgeGates({ gates, looks: looks.get(name) ?? new Map(), settledAt, now });
  return { verdict, decisions: hasChanged ? [{ kind: 'settled', group: name, nodes: ended }] : [] };
}

/** Lists the group's gates, but for those that an operator has it go past. */
function gatesLeft({ definition: { health = [] }, rollout }: GroupRun): readonly HealthGate[] {
  return health.filter(({ name }) => rollout?.skippedGates?.includes(name) !== true);
}

/** Counts nodes that the action has brought to an end in the group. Pure. */
export function endedHere({ members }: GroupRun, nodeOf: (name: string) => NodeRun): number {
  return members.filter((name) => isBegunHere(nodeOf(name)) && hasEnded(nodeOf(name))).length;
}

/** A group's gates that have to be asked. */
export interface AskedGates {
  readonly group: string;
  readonly gates: readonly HealthGate[];
}

/** Lists gates that decide on something now: those of groups under way, but for a closed window's. Pure. */
export function gatesToAsk(run: SiteRun, now: number): AskedGates[] {
  return run.groups.flatMap((group): AskedGates[] => {
    const { name } = group.definition;
    const gates = gatesLeft(group);
    if (gates.length === 0 || !isUnderWay(group)) return [];
    const isUnbegun = (member: string): boolean => isUntouched(run.nodes.get(member) ?? { status: 'not_started' });
    return isClosed(group, now) && group.members.some(isUnbegun) ? [] : [{ group: name, gates }];
  });
}
