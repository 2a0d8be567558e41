import { transientStates } from '#conductor/model/provision-states.ts';
import { alreadyThere, notDeployedByUs, rebuildFailed } from '#conductor/sites/nodes/decide-prepare.ts';
import {
  act,
  done,
  failed,
  isActionsDeploy,
  isSites,
  type NodeCase,
  type NodeDecision,
  working,
} from '#conductor/sites/nodes/node-decision.ts';
import type { NodeStanding } from '#conductor/sites/nodes/node-facts.ts';

/** From reserved for the site to active: what comes next, no flow being under way. Pure. */
export function decideDeploy(given: NodeCase, node: NodeStanding): NodeDecision {
  const { provisionState: state } = node;
  const sites = isSites(given);
  if (state === 'active') {
    if (isActionsDeploy(given, node)) return act({ kind: 'record' }, 'recording its deploy', { state: 'done' });
    return sites === 'deployed' ? done(alreadyThere(given)) : failed(notDeployedByUs(node));
  }
  // the facts are of a moment between two writes
  if (transientStates.has(state)) return working(`in '${state}'`);
  if (state === 'rescue' && sites === 'deployed') return done(`${alreadyThere(given)}; it is in 'rescue'`);
  if (state !== 'available' && state !== 'deploy failed') {
    return failed(`it is no longer prepared: it is in '${state}'${node.lastError ? `: ${node.lastError}` : ''}`);
  }
  if (state === 'deploy failed' && sites === 'deployed') return failed(rebuildFailed);
  if (sites === undefined) return failed('it is no longer prepared: its reservation is gone');
  return act({ kind: 'deploy' }, 'beginning its deploy');
}
