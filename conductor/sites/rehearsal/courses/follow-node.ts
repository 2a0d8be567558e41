import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { NodeOutcome, NodePhase } from '#conductor/model/site/site-run.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import type { NodeFacts } from '#conductor/sites/nodes/node-decision.ts';
import { aboutNode, type NodeOrder } from '#conductor/sites/nodes/node-order.ts';
import { afterFlows, type FollowedFor, followAct } from '#conductor/sites/rehearsal/courses/follow-act.ts';
import type { PhaseCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A node as it is now, and the order that the action would give about it. */
export interface FollowedNode extends FollowedFor {
  readonly order: Omit<NodeOrder, 'phase'>;
  readonly facts: NodeFacts;
}

/** Kinds of flows of a node's phase, one after another, and how it ends. */
export interface FollowedPhase {
  readonly flows: readonly FlowKindName[];
  readonly end: PhaseCourse['end'];
}

/** More than any node needs: who gets there goes in a circle. */
const mostTurns = 64;

/**
 * Follows a node through both phases of an action: what the engine decides about it as it is now, and again with what that
 * would make of it. Pure.
 * @throws AppError `internal` when that has no end
 */
export function followNode(given: FollowedNode): Readonly<Record<NodePhase, FollowedPhase>> {
  const prepare = followPhase(given, 'prepare', given.facts);
  const deploy = followPhase(given, 'deploy', prepare.facts);
  return { prepare: prepare.followed, deploy: deploy.followed };
}

function followPhase(
  given: FollowedNode,
  phase: NodePhase,
  start: NodeFacts,
): { readonly followed: FollowedPhase; readonly facts: NodeFacts } {
  const { order, actionId, designHash } = given;
  const { name } = order.node;
  const flows: FlowKindName[] = [];
  let facts = start;
  const stop = (outcome: NodeOutcome) => ({
    followed: { flows, end: endOf(aboutNode(outcome, { name, uuid: given.facts.node?.uuid })) },
    facts,
  });
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const decision = decideNode({ order: { ...order, phase }, actionId, designHash, facts });
    if (decision.kind === 'act') {
      const next = followAct(given, facts, decision.act);
      flows.push(...next.flows);
      ({ facts } = next);
      if (decision.ends) return stop(decision.ends);
      continue;
    }
    const { flow } = facts;
    if (decision.outcome.state !== 'working' || !flow?.isOpen) return stop(decision.outcome);
    // somebody else's, which is waited for
    const kinds = [flow.kind, flowKinds[flow.kind].next].filter((kind) => kind !== undefined);
    flows.push(...kinds);
    facts = afterFlows(facts, kinds, flow.actionId);
  }
  throw new AppError('internal', `rehearse: node ${name} comes to no end`);
}

function endOf(outcome: NodeOutcome): PhaseCourse['end'] {
  return outcome.state === 'working' ? { state: 'waits', doing: outcome.doing } : outcome;
}
