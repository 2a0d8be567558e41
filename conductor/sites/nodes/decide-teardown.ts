import { simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { type ProvisionState, transientStates } from '#conductor/model/provision-states.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';
import {
  decidePrepare,
  isJustWiped,
  notDeployedByUs,
  renewAccess,
  whyRetired,
} from '#conductor/sites/nodes/decide-prepare.ts';
import {
  actDecision,
  doneDecision,
  failedDecision,
  isActionsDeploy,
  isSites,
  type NodeCase,
  type NodeDecision,
  type ObservedNode,
  ownFailure,
  workingDecision,
} from '#conductor/sites/nodes/node-decision.ts';
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
 * Decides what comes next for a node that is to be torn down, no flow being under way: out of its clusters, its
 * instance released, its disks wiped, out of the cluster's list; then it is prepared as ever, kept, or forgotten. Each
 * is done once by an action, whatever the node's state, and what has been done is known from this action's flows alone.
 * While the action is paused nothing is begun. Pure.
 */
export function decideTeardown(given: NodeCase, node: ObservedNode, teardown: TeardownOrder): NodeDecision {
  return holdBack(given.order, decideNext(given, node, teardown));
}

/**
 * An operator who pauses may have seen that it is the wrong node; and who has no clusters takes no node out of any. What
 * is over is recorded all the same.
 */
function holdBack({ paused, teardown }: NodeCase['order'], next: NodeDecision): NodeDecision {
  if (next.kind === 'outcome' || next.act.kind === 'record') return next;
  if (paused) return workingDecision(newRemark('paused-before', { doing: next.doing }));
  const isOfClusters = next.act.kind === 'decommission' || next.act.kind === 'leave cluster';
  return isOfClusters && teardown?.lacks !== undefined
    ? workingDecision(newRemark('lacking-before', { doing: next.doing, lacks: teardown.lacks }))
    : next;
}

function decideNext(given: NodeCase, node: ObservedNode, teardown: TeardownOrder): NodeDecision {
  const { provisionState: state } = node;
  const has = (kind: FlowKindName): boolean => given.facts.rest?.succeeded.has(kind) === true;
  // the facts are of a moment between two writes
  if (transientStates.has(state)) return workingDecision(newRemark('in-state', { state }));
  if (has('wipe')) return afterWipe(given, node, teardown);
  if (state === 'adopt failed') return failedDecision(newRemark('adoption-failed', { reason: node.lastError }));
  // one that owes a wipe was released for it, by this action or by one that was stopped then
  const isBegun = releasing.has(state) || has('teardown') || node.owedWipe !== null;
  if (node.retired && (teardown.afterwards === 'deploy' || !isBegun)) return failedDecision(whyRetired(node));
  if (inService.has(state)) {
    if (isActionsDeploy(given, node)) return actDecision({ kind: 'record' }, newRemark('recording-deploy'));
    if (isSites(given) !== 'deployed') return failedDecision(notDeployedByUs(node));
  }
  const isClustered = teardown.kubernetes || teardown.etcd;
  if (isClustered && !has('decommission')) return actDecision({ kind: 'decommission' }, newRemark('leaving-clusters'));
  if (isClustered && inService.has(state) && given.facts.rest?.mayBeBack === true) {
    // who stands cordoned and empty still costs a look; who was uncordoned meanwhile has pods to lose
    return actDecision({ kind: 'decommission' }, newRemark('leaving-clusters-again'));
  }
  return destroy(given, node, teardown);
}

/**
 * A node that its action has wiped is removed from the cluster whosever it is by now: it is cordoned and drained, and
 * nobody else would do it. `undefined` = it has left, or was in none. Pure.
 */
export function leaveStill(given: NodeCase, node: ObservedNode): NodeDecision | undefined {
  const { order, facts } = given;
  const { succeeded } = facts.rest ?? {};
  if (order.phase !== 'prepare' || !order.teardown?.kubernetes || node.maintenance) return undefined;
  if (!succeeded?.has('wipe') || succeeded.has('leave_cluster') || ownFailure(given, node)) return undefined;
  if (facts.flow?.isOpen || transientStates.has(node.provisionState)) {
    return workingDecision(newRemark('waiting-to-leave-cluster'));
  }
  return holdBack(order, actDecision({ kind: 'leave cluster' }, newRemark('removing-from-cluster')));
}

/** To the wipe, from wherever it is. */
function destroy(given: NodeCase, node: ObservedNode, { afterwards }: TeardownOrder): NodeDecision {
  const { provisionState: state } = node;
  const differs = given.facts.rest?.differs ?? [];
  if (releasing.has(state)) {
    // nothing is switched off by way of a BMC that has another password by now
    const renewed = inService.has(state) ? renewAccess(given) : undefined;
    return renewed ?? actDecision({ kind: 'verb', verb: 'deleted', wipes: true }, newRemark('releasing-to-wipe'));
  }
  if (state === 'enroll') return decidePrepare(given, node);
  if (state !== 'manageable') {
    const doing = state === 'available' ? newRemark('leaving-pool-for-wipe') : newRemark('leaving-state', { state });
    return actDecision({ kind: 'verb', verb: 'manage' }, doing);
  }
  // before it is wiped, while nobody else can have it
  if (afterwards !== 'deploy' && isSites(given) === 'reserved') {
    return actDecision({ kind: 'forget reservation' }, newRemark('returning-reservation'));
  }
  if (afterwards !== 'deploy')
    return renewAccess(given) ?? actDecision({ kind: 'verb', verb: 'provide', wipes: true }, newRemark('wiping'));
  if (differs.length > 0) return actDecision({ kind: 'align' }, newRemark('aligning', { differs }));
  return actDecision({ kind: 'verb', verb: 'provide', wipes: true }, newRemark('wiping'));
}

/** Its wipe has left it in `manageable`, where nobody else can have it before it is out of the cluster. */
function afterWipe(given: NodeCase, node: ObservedNode, teardown: TeardownOrder): NodeDecision {
  const { rest } = given.facts;
  const { provisionState: state } = node;
  if (teardown.kubernetes && rest?.succeeded.has('leave_cluster') !== true) {
    return actDecision({ kind: 'leave cluster' }, newRemark('removing-from-cluster'));
  }
  if (inService.has(state)) return failedDecision(newRemark('in-service-since-wipe'));
  if (teardown.afterwards === 'deploy') return decidePrepare(given, node);
  if (teardown.afterwards === 'remove') {
    return actDecision({ kind: 'remove' }, newRemark('forgetting'), {
      state: 'done',
      remark: newRemark('torn-down-forgotten', { wiped: wipedAs(node) }),
    });
  }
  if (state === 'manageable' && !node.retired) {
    return isJustWiped(given)
      ? actDecision({ kind: 'make available', reserves: false }, newRemark('making-available'))
      : actDecision({ kind: 'verb', verb: 'provide' }, newRemark('cleaning'));
  }
  return doneDecision(newRemark('torn-down-kept', { state, wiped: wipedAs(node) }));
}

function wipedAs(node: ObservedNode): string {
  return hasFakeDeploy(node) ? `its wipe ${simulatedWipe}` : 'wiped';
}
