import { transientStates } from '#conductor/model/provision-states.ts';
import { newRemark } from '#conductor/model/remark-words.ts';
import {
  alreadyThere,
  deployedElsewhere,
  notDeployedByUs,
  rebuildFailed,
} from '#conductor/sites/nodes/decide-prepare.ts';
import {
  act,
  done,
  failed,
  isActionsDeploy,
  isAwaited,
  isSites,
  type NodeCase,
  type NodeDecision,
  working,
} from '#conductor/sites/nodes/node-decision.ts';
import type { ObservedNode } from '#conductor/sites/nodes/node-facts.ts';

/** From reserved for the site to active: what comes next, no flow being under way. Pure. */
export function decideDeploy(given: NodeCase, node: ObservedNode): NodeDecision {
  const { provisionState: state } = node;
  const sites = isSites(given);
  if (state === 'active') {
    if (isActionsDeploy(given, node)) {
      const awaits = given.facts.rest?.awaitsService === true;
      return act({ kind: 'record' }, newRemark('recording-deploy'), awaits ? undefined : { state: 'done' });
    }
    if (sites !== 'deployed') return failed(notDeployedByUs(node));
    if (isAwaited(given)) return waitForService(given);
    return done(given.facts.rest?.succeeded.has('enter_service') ? undefined : alreadyThere(given));
  }
  // the facts are of a moment between two writes
  if (transientStates.has(state)) return working(newRemark('in-state', { state }));
  if (state === 'rescue' && sites === 'deployed') {
    return isAwaited(given) ? failed(newRemark('not-in-service', { state })) : done(deployedElsewhere(given, node));
  }
  if (state !== 'available' && state !== 'deploy failed') {
    return failed(newRemark('no-longer-prepared', { state, reason: node.lastError }));
  }
  if (state === 'deploy failed' && sites === 'deployed') return failed(rebuildFailed);
  if (sites === undefined) return failed(newRemark('reservation-gone'));
  return act({ kind: 'deploy' }, newRemark('beginning-deploy'));
}

/** Who has no cluster can't ask it, and does not take that for an answer. */
function waitForService({ order: { teardown } }: NodeCase): NodeDecision {
  if (teardown?.lacks === undefined) return act({ kind: 'enter service' }, newRemark('waiting-for-service'));
  return working(newRemark('lacking-before', { doing: newRemark('asking-for-service'), lacks: teardown.lacks }));
}
