import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { legalVerbs, transientStates } from '#conductor/model/provision-states.ts';
import { type Remark, textRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import {
  alreadyThere,
  decidePrepare,
  deployedElsewhere,
  notDeployedByUs,
  rebuildFailed,
} from '#conductor/sites/nodes/decide-prepare.ts';
import { decideTeardown, leaveStill } from '#conductor/sites/nodes/decide-teardown.ts';
import {
  actDecision,
  doneDecision,
  failedDecision,
  isActionsDeploy,
  isAwaited,
  isSites,
  type NodeCase,
  type NodeDecision,
  type ObservedFlow,
  type ObservedNode,
  ownFailure,
  staysWhereItIs,
  whyForeign,
  workingDecision,
} from '#conductor/sites/nodes/node-decision.ts';

/** How long a node that is broken off may take to come to rest; then nothing more is done to it. */
export const patienceMs = 10 * 60_000;

/**
 * Decides what to do about a node now. The same for the same facts, no matter who asks: what an action has done already
 * is known from its flows, the allocation and `site_nodes` alone. next-moves.md has every case. Pure.
 */
export function decideNode(given: NodeCase): NodeDecision {
  const { order, facts } = given;
  const { node, flow } = facts;
  if (order.cancel !== undefined) return breakOff(given, order.cancel);
  const teardown = order.phase === 'prepare' ? order.teardown : undefined;
  if (order.phase === 'deploy' && order.teardown !== undefined && order.teardown.afterwards !== 'deploy')
    return doneDecision();
  if (!node) return decideUnknown(given);
  if (flow?.isOpen && flow.actionId === given.actionId) return workingDecision(remarkOnFlow(flow));
  const foreign = whyForeign(given, node);
  if (foreign !== undefined) return leaveStill(given, node) ?? failedDecision(foreign);
  if (flow?.isOpen) return beside(given, flow);
  const failure = ownFailure(given, node);
  if (failure) return failedDecision(remarkOnFailure(order.node.name, failure));
  // the conductor's own doing, which this action may try to mend once
  if (node.maintenance && node.fault === nodeFaults.clean && node.provisionState === 'clean failed') {
    if (order.phase === 'prepare') return actDecision({ kind: 'end maintenance' }, newRemark('ending-maintenance'));
  }
  // a person, or a dead BMC, keeps it from being taken apart; what is deployed already may stay as it is
  if (node.maintenance && (node.provisionState !== 'active' || teardown)) return failedDecision(whyMaintained(node));
  const undeployable = whyNeverDeployed(given);
  if (undeployable !== undefined) return leaveStill(given, node) ?? failedDecision(undeployable);
  if (teardown) return decideTeardown(given, node, teardown);
  return order.phase === 'prepare' ? decidePrepare(given, node) : decideDeploy(given, node);
}

function decideUnknown(given: NodeCase): NodeDecision {
  const {
    phase,
    teardown,
    node: { name },
  } = given.order;
  if (phase === 'deploy') return failedDecision(newRemark('no-longer-enrolled', { node: name }));
  if (teardown === undefined || teardown.afterwards === 'deploy') {
    const undeployable = whyNeverDeployed(given);
    return undeployable === undefined
      ? actDecision({ kind: 'enrol' }, newRemark('enrolling'))
      : failedDecision(undeployable);
  }
  if (teardown.afterwards === 'remove') return doneDecision(newRemark('not-enrolled'));
  return failedDecision(newRemark('nothing-to-tear-down'));
}

/** Why nothing is to be done to a node that is to be deployed: its deploy would be refused, its disks being empty by then. */
function whyNeverDeployed(given: NodeCase): Remark | undefined {
  const { order, facts } = given;
  if (facts.undeployable === undefined || order.phase !== 'prepare') return undefined;
  const isRemade = order.teardown ? order.teardown.afterwards === 'deploy' : isSites(given) !== 'deployed';
  const isThere = facts.node !== undefined && isActionsDeploy(given, facts.node);
  return isRemade && !isThere ? textRemark(facts.undeployable) : undefined;
}

function whyMaintained({ maintenanceReason }: ObservedNode): Remark {
  return newRemark('in-maintenance', { reason: maintenanceReason });
}

/** Somebody else's flow: what makes the node ready is waited for, what belongs to an instance is theirs. */
function beside(given: NodeCase, flow: ObservedFlow): NodeDecision {
  const whose = flow.actionId === null ? (flow.requestedBy ?? 'somebody') : `site action ${flow.actionId}`;
  const doing = remarkOnFlow(flow);
  const isTornDown = given.order.teardown !== undefined && given.order.phase === 'prepare';
  if (isSites(given) === 'deployed' && !isTornDown && !isAwaited(given))
    return doneDecision(newRemark('deployed-already-now', { doing, whose }));
  // another action's deploy of the same site is on its way out, or done in a moment
  if (flow.kind === 'deploy' && flow.actionId === null)
    return failedDecision(newRemark('deployed-by-other', { whose }));
  return workingDecision(newRemark('waiting-for-flow', { doing, whose }));
}

function breakOff(given: NodeCase, reason: string): NodeDecision {
  const { facts, cancelledMs = 0, actionId } = given;
  const { node, flow, allocation } = facts;
  if (node && flow?.isOpen && flow.actionId === actionId) {
    if (cancelledMs > patienceMs) return giveUp(node, flow, reason);
    // nothing goes on there, nor is stopped, before somebody says what the machine is
    if (node.fault === nodeFaults.restored) return failedDecision(whyMaintained(node));
    const doing = remarkOnFlow(flow);
    if (isCleaningUp(flow.state)) return workingDecision(newRemark('breaking-off', { doing }));
    if (flow.abortRequested !== null) return workingDecision(newRemark('breaking-off-later', { doing }));
    // a verification ends soon, and a conductor of an older release could not abort it
    const mayAbort = node.provisionState !== 'verifying' && legalVerbs(node.provisionState).includes('abort');
    if (staysWhereItIs(flow) || mayAbort) {
      return actDecision({ kind: 'verb', verb: 'abort' }, newRemark('breaking-off', { doing }));
    }
    return workingDecision(newRemark('breaking-off-later', { doing }));
  }
  if (node && isActionsDeploy(given, node)) {
    const late = newRemark('deployed-before-stop', { reason });
    return actDecision({ kind: 'record' }, newRemark('recording-deploy'), { state: 'failed', error: late });
  }
  if (allocation?.state === 'allocating' && allocation.actionId === actionId) {
    return actDecision({ kind: 'forget reservation' }, newRemark('withdrawing-reservation'), {
      state: 'failed',
      error: textRemark(reason),
    });
  }
  return failedDecision(textRemark(reason));
}

function giveUp(node: ObservedNode, flow: ObservedFlow, reason: string): NodeDecision {
  const minutes = patienceMs / 60_000;
  const doing = remarkOnFlow({ ...flow, held: null });
  const error = newRemark('gave-up-stopping', { reason, minutes, doing, state: node.provisionState });
  if (node.maintenance) return failedDecision(error);
  return actDecision(
    { kind: 'put into maintenance', reason: describeRemark(error) },
    newRemark('putting-into-maintenance'),
    {
      state: 'failed',
      error,
    },
  );
}

/** From reserved for the site to active: what comes next, no flow being under way. Pure. */
function decideDeploy(given: NodeCase, node: ObservedNode): NodeDecision {
  const { provisionState: state } = node;
  const sites = isSites(given);
  if (state === 'active') {
    if (isActionsDeploy(given, node)) {
      const awaits = given.facts.rest?.awaitsService === true;
      return actDecision({ kind: 'record' }, newRemark('recording-deploy'), awaits ? undefined : { state: 'done' });
    }
    if (sites !== 'deployed') return failedDecision(notDeployedByUs(node));
    if (isAwaited(given)) return waitForService(given);
    return doneDecision(given.facts.rest?.succeeded.has('enter_service') ? undefined : alreadyThere(given));
  }
  // the facts are of a moment between two writes
  if (transientStates.has(state)) return workingDecision(newRemark('in-state', { state }));
  if (state === 'rescue' && sites === 'deployed') {
    return isAwaited(given)
      ? failedDecision(newRemark('not-in-service', { state }))
      : doneDecision(deployedElsewhere(given, node));
  }
  if (state !== 'available' && state !== 'deploy failed') {
    return failedDecision(newRemark('no-longer-prepared', { state, reason: node.lastError }));
  }
  if (state === 'deploy failed' && sites === 'deployed') return failedDecision(rebuildFailed);
  if (sites === undefined) return failedDecision(newRemark('reservation-gone'));
  return actDecision({ kind: 'deploy' }, newRemark('beginning-deploy'));
}

/** Waits for the node's service. A conductor that has no cluster can't ask it, and does not take that for an answer. */
function waitForService({ order: { teardown } }: NodeCase): NodeDecision {
  if (teardown?.lacks === undefined) return actDecision({ kind: 'enter service' }, newRemark('waiting-for-service'));
  return workingDecision(
    newRemark('lacking-before', { doing: newRemark('asking-for-service'), lacks: teardown.lacks }),
  );
}

/**
 * Describes what a flow is doing: `cleaning: deploy.erase_devices_metadata, 40 %`, `deploying: plugin ntp 1.0, task 2`.
 * Pure.
 */
function remarkOnFlow({ kind, held, onHold, step }: Pick<ObservedFlow, 'kind' | 'held' | 'onHold' | 'step'>): Remark {
  return newRemark('flow', {
    flow: kind,
    held: held ?? undefined,
    onHold: onHold ?? undefined,
    step: step?.name,
    plugin: step?.plugin?.plugin,
    version: step?.plugin?.version,
    task: step?.plugin?.task.toString(),
    percent: step?.percent,
    phase: step?.phase,
    waitingFor: step?.waitingFor ?? undefined,
  });
}

/** The first line of a failure, and where the rest of it is. Pure. */
function remarkOnFailure(node: string, flow: Pick<ObservedFlow, 'kind' | 'error' | 'state' | 'fault'>): Remark {
  const [first = ''] = (flow.error ?? '').split('\n');
  const { fault } = flow;
  return newRemark('flow-failed', {
    error: first || `${flow.kind} ${flow.state}`,
    node,
    ...(fault === undefined ? {} : { fault }),
  });
}
