import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { type ProvisionState, transientStates } from '#conductor/nodes/provision-states.ts';
import { decidePrepare, notDeployedByUs, renewAccess, whyRetired } from '#conductor/sites/nodes/decide-prepare.ts';
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
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';

/** Something runs there, or has: it must be the site's. */
const inService: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'active',
  'rescue',
  'rescue failed',
  'unrescue failed',
  'service failed',
]);
/** Where the instance is released first; the wipe follows. */
const releasing: ReadonlySet<ProvisionState> = new Set<ProvisionState>([...inService, 'deploy failed', 'error']);

/**
 * What comes next for a node that is to be torn down, no flow being under way: out of its clusters, its instance
 * released, its disks wiped, out of the cluster's list; then it is prepared as ever, kept, or forgotten. Each is done once
 * by an action, whatever the node's state, and what has been done is told by this action's flows alone. Pure.
 */
export function decideTeardown(given: NodeCase, node: NodeStanding, teardown: TeardownOrder): NodeDecision {
  const { provisionState: state } = node;
  const has = (kind: FlowKindName): boolean => given.facts.rest?.succeeded.has(kind) === true;
  // the facts are of a moment between two writes
  if (transientStates.has(state)) return working(`in '${state}'`);
  if (has('wipe')) return afterWipe(given, node, teardown);
  if (state === 'adopt failed') return failed(`its adoption failed: ${node.lastError ?? 'without a reason'}`);
  if (node.retired && (teardown.afterwards === 'deploy' || !releasing.has(state))) return failed(whyRetired(node));
  if (inService.has(state)) {
    if (isActionsDeploy(given, node)) return act({ kind: 'record' }, 'recording its deploy');
    if (isSites(given) !== 'deployed') return failed(notDeployedByUs(node));
  }
  const isClustered = teardown.kubernetes || teardown.etcd;
  if (isClustered && !has('decommission')) return act({ kind: 'decommission' }, 'taking it out of its clusters');
  return destroy(given, node, teardown);
}

/** To the wipe, from wherever it is. */
function destroy(given: NodeCase, node: NodeStanding, { afterwards }: TeardownOrder): NodeDecision {
  const { provisionState: state } = node;
  const differs = given.facts.rest?.differs ?? [];
  if (releasing.has(state)) {
    // nothing is switched off by way of a BMC that has another password by now
    const renewed = inService.has(state) ? renewAccess(given) : undefined;
    return renewed ?? act({ kind: 'verb', verb: 'deleted', wipes: true }, 'releasing its instance, then wiping it');
  }
  if (state === 'enroll') return decidePrepare(given, node);
  if (state !== 'manageable') {
    const doing = state === 'available' ? 'leaving the pool to be wiped' : `leaving '${state}'`;
    return act({ kind: 'verb', verb: 'manage' }, doing);
  }
  if (afterwards !== 'deploy')
    return renewAccess(given) ?? act({ kind: 'verb', verb: 'provide', wipes: true }, 'wiping it');
  if (differs.length > 0) return act({ kind: 'align' }, `bringing in line: ${differs.join(', ')}`);
  return act({ kind: 'verb', verb: 'provide', wipes: true }, 'wiping it');
}

function afterWipe(given: NodeCase, node: NodeStanding, teardown: TeardownOrder): NodeDecision {
  const { rest } = given.facts;
  if (inService.has(node.provisionState)) return failed('somebody has put it into service since it was wiped');
  if (teardown.kubernetes && rest?.succeeded.has('leave_cluster') !== true) {
    return reserveFirst(given, node, teardown) ?? act({ kind: 'leave cluster' }, 'removing it from the cluster');
  }
  if (teardown.afterwards === 'deploy') {
    const next = decidePrepare(given, node);
    return teardown.preserveLocalStorage ? spareDisks(given, next) : next;
  }
  if (teardown.afterwards === 'keep') return done(`it is torn down and wiped; it is '${node.provisionState}'`);
  return act({ kind: 'remove' }, 'forgetting it', { state: 'done', remark: 'it is torn down, wiped and forgotten' });
}

/** Automated cleaning and the rebuilding of arrays would take what the wipe has preserved. */
function spareDisks({ facts }: NodeCase, next: NodeDecision): NodeDecision {
  if (next.kind === 'outcome' || next.act.kind !== 'verb') return next;
  const { verb } = next.act;
  if ((verb === 'manage' || verb === 'clean') && facts.rest?.rebuildsRaid) {
    return failed(
      'its RAID is to be built anew, which begins with deleting all arrays, and local storage is to be preserved: build ' +
        'it by manual cleaning, then update_site deploys it; or redeploy it without preserve-local-storage',
    );
  }
  return verb === 'provide' || verb === 'deleted' ? { ...next, act: { ...next.act, wipes: true } } : next;
}

/** A node in the pool goes to whoever asks: it is the site's again before anything else that takes time. */
function reserveFirst(given: NodeCase, node: NodeStanding, { afterwards }: TeardownOrder): NodeDecision | undefined {
  if (afterwards !== 'deploy' || node.provisionState !== 'available' || isSites(given) !== undefined) return undefined;
  const next = decidePrepare(given, node);
  if (next.kind === 'outcome') return next.outcome.state === 'working' ? next : undefined;
  return next.act.kind === 'verb' ? undefined : next;
}
