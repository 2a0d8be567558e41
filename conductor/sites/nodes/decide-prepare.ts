import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { renewalAdvice } from '#conductor/model/remarks/outdated.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import {
  actDecision,
  doneDecision,
  failedDecision,
  isActionsDeploy,
  isAwaited,
  isSites,
  type NodeCase,
  type NodeDecision,
  type NodeFacts,
  type ObservedNode,
  workingDecision,
} from '#conductor/sites/nodes/node-decision.ts';

type Rule = (given: NodeCase, node: ObservedNode) => NodeDecision;

const wait: Rule = (_given, { provisionState }) => workingDecision(newRemark('in-state', { state: provisionState }));

/** From each state in which nobody works on the node; `wait` where somebody does, or is about to. */
const rules: Readonly<Record<ProvisionState, Rule>> = {
  enroll: (given) => align(given) ?? actDecision({ kind: 'verb', verb: 'manage' }, newRemark('verifying')),
  verifying: wait,
  manageable: makeAvailable,
  inspecting: wait,
  'inspect wait': wait,
  // of an earlier action: tried once more; not everything may be changed here, and in `manageable` it may
  'inspect failed': () => actDecision({ kind: 'verb', verb: 'manage' }, newRemark('leaving-failed-inspection')),
  cleaning: wait,
  'clean wait': wait,
  'clean hold': wait,
  'clean failed': () => actDecision({ kind: 'verb', verb: 'manage' }, newRemark('leaving-failed-cleaning')),
  available: reserve,
  deploying: wait,
  'wait call-back': wait,
  'deploy hold': wait,
  'deploy failed': mendDeploy,
  active: alreadyActive,
  deleting: wait,
  error: () => actDecision({ kind: 'verb', verb: 'deleted' }, newRemark('tearing-down-again')),
  adopting: wait,
  'adopt failed': (_given, node) => failedDecision(newRemark('adoption-failed', { reason: node.lastError })),
  rescuing: wait,
  'rescue wait': wait,
  rescue: instanceElsewhere,
  'rescue failed': instanceBroken,
  unrescuing: wait,
  'unrescue failed': instanceBroken,
  servicing: wait,
  'service wait': wait,
  'service hold': wait,
  'service failed': instanceBroken,
};

/** From nothing to reserved for the site: what comes next. Pure. */
export function decidePrepare(given: NodeCase, node: ObservedNode): NodeDecision {
  return rules[node.provisionState](given, node);
}

function align({ facts }: NodeCase): NodeDecision | undefined {
  const differs = facts.rest?.differs ?? [];
  return differs.length > 0 ? actDecision({ kind: 'align' }, newRemark('aligning', { differs })) : undefined;
}

/** Pure. */
export function whyRetired({ retiredReason }: ObservedNode): Remark {
  return newRemark('retired', { reason: retiredReason });
}

function makeAvailable(given: NodeCase, node: ObservedNode): NodeDecision {
  const { rest } = given.facts;
  if (node.retired) return failedDecision(whyRetired(node));
  const differing = align(given);
  if (differing) return differing;
  if (rest?.needsHardware && !rest.succeeded.has('manual_clean')) {
    return decideRaidRefusal(given) ?? actDecision({ kind: 'verb', verb: 'clean' }, newRemark('setting-up-hardware'));
  }
  if (rest?.needsInspection && !rest.succeeded.has('inspect') && !rest.succeeded.has('inspect_by_bmc')) {
    return actDecision({ kind: 'verb', verb: 'inspect' }, newRemark('inspecting'));
  }
  if (isJustWiped(given)) return actDecision({ kind: 'make available', reserves: true }, newRemark('reserving'));
  return actDecision({ kind: 'verb', verb: 'provide' }, newRemark('cleaning'));
}

/** By this action, and nothing has written to its disks since: another cleaning would have nothing to do. Pure. */
export function isJustWiped({ facts, actionId }: Pick<NodeCase, 'facts' | 'actionId'>): boolean {
  const { flow, rest } = facts;
  if (!rest?.succeeded.has('wipe') || rest.succeeded.has('manual_clean')) return false;
  return flow?.actionId === actionId;
}

/** The rebuilding of arrays would take the disks that a wipe has kept, whichever action comes to it. */
function decideRaidRefusal({ order, facts }: NodeCase): NodeDecision | undefined {
  const { rebuildsRaid, sparesDisks } = facts.rest ?? {};
  if (!rebuildsRaid || !(sparesDisks || order.teardown?.preserveLocalStorage)) return undefined;
  return failedDecision(newRemark('raid-over-kept-disks'));
}

function reserve(given: NodeCase, node: ObservedNode): NodeDecision {
  const { facts, actionId } = given;
  const { allocation, rest } = facts;
  const differing = align(given);
  if (differing) return differing;
  if (rest?.needsHardware && !rest.succeeded.has('manual_clean')) {
    return (
      decideRaidRefusal(given) ?? actDecision({ kind: 'verb', verb: 'manage' }, newRemark('leaving-pool-for-hardware'))
    );
  }
  if (isSites(given) !== undefined) {
    const isNew = allocation?.actionId === actionId || (rest?.succeeded.size ?? 0) > 0;
    return isNew ? doneDecision() : doneDecision(newRemark('prepared-already'));
  }
  if (node.retired) return failedDecision(whyRetired(node));
  if (!allocation) return actDecision({ kind: 'reserve' }, newRemark('reserving'));
  if (allocation.state === 'allocating') {
    return workingDecision(newRemark('waiting-for-reservation', { reason: allocation.waitingFor }));
  }
  if (allocation.state === 'error' && allocation.actionId === actionId) {
    return failedDecision(newRemark('reservation-failed', { reason: allocation.lastError }));
  }
  // of an earlier action that came to nothing
  if (allocation.nodeUuid === null)
    return actDecision({ kind: 'forget reservation' }, newRemark('withdrawing-old-reservation'));
  if (allocation.nodeUuid === node.uuid) return workingDecision(newRemark('waiting-for-reservation', { reason: null }));
  return failedDecision(
    newRemark('reservation-elsewhere', {
      allocation: allocation.uuid,
      node: allocation.nodeName ?? allocation.nodeUuid,
    }),
  );
}

/** Recognizes fields that may not be changed of a node that has an instance. */
const isFixed = (field: string): boolean => /^(driver|resource_class|port .*)$/.test(field);

/** The instance is the site's: it is deployed again, over what is there, unless the machine itself is to be another. */
function mendDeploy(given: NodeCase): NodeDecision {
  const { rest } = given.facts;
  // it was in service: nobody but its operator says that what is on it may go
  if (isSites(given) === 'deployed') return failedDecision(rebuildFailed);
  const isKept = isSites(given) !== undefined && !rest?.needsHardware && !rest?.differs.some(isFixed);
  if (!isKept) return actDecision({ kind: 'verb', verb: 'deleted' }, newRemark('tearing-down-failed-deploy'));
  return align(given) ?? doneDecision(newRemark('reserved-after-failure'));
}

/** The remark on a node that the site has deployed, and somebody else wanted deployed again. */
export const rebuildFailed = newRemark('rebuild-failed', { remedy: renewalAdvice });

function alreadyActive(given: NodeCase, node: ObservedNode): NodeDecision {
  if (isActionsDeploy(given, node)) return actDecision({ kind: 'record' }, newRemark('recording-deploy'));
  if (isSites(given) !== 'deployed') return failedDecision(notDeployedByUs(node));
  // one that has not been seen in service is as good as prepared
  return renewAccess(given) ?? (isAwaited(given) ? doneDecision() : doneDecision(alreadyThere(given)));
}

/** A BMC's new password, or address: without it nobody reaches a node in service. Nothing else of it is changed. Pure. */
export function renewAccess({ facts }: Pick<NodeCase, 'facts'>): NodeDecision | undefined {
  const differs = facts.rest?.differs ?? [];
  if (!differs.includes('driver_info') || differs.includes('driver')) return undefined;
  return actDecision({ kind: 'renew access' }, newRemark('aligning', { differs: ['driver_info'] }));
}

/** Why an `active` node is none of the site's. Pure. */
export function notDeployedByUs({ instanceUuid }: ObservedNode): Remark {
  return newRemark('not-deployed-by-site', { instance: instanceUuid });
}

/** `it was deployed already`, and what the documents say otherwise by now. Pure. */
export function alreadyThere(given: Pick<NodeCase, 'facts' | 'designHash'>): Remark {
  const { deployed } = given.facts;
  const differs = deployed ? nameOutdated(given) : [];
  return deployed && differs.length > 0
    ? newRemark('outdated', { revision: deployed.revisionId, differs })
    : newRemark('deployed-already');
}

/** Pure. */
export function deployedElsewhere(given: NodeCase, { provisionState: state }: ObservedNode): Remark {
  return newRemark('deployed-elsewhere', { deployed: alreadyThere(given), state });
}

function instanceElsewhere(given: NodeCase, node: ObservedNode): NodeDecision {
  if (isSites(given) !== 'deployed') return failedDecision(newRemark('is-in-state', { state: node.provisionState }));
  return renewAccess(given) ?? (isAwaited(given) ? doneDecision() : doneDecision(deployedElsewhere(given, node)));
}

function instanceBroken(given: NodeCase, node: ObservedNode): NodeDecision {
  return failedDecision(
    newRemark('state-broken', { state: node.provisionState, reason: node.lastError, node: given.order.node.name }),
  );
}

/** Names what of a node that the site has deployed is not as its documents say; `verify_site` names it, too. Pure. */
export function nameOutdated({
  facts,
  designHash,
}: {
  readonly facts: Pick<NodeFacts, 'rest' | 'deployed'>;
  readonly designHash: () => string;
}): string[] {
  const { rest, deployed } = facts;
  return [
    ...(rest?.differs ?? []),
    ...(deployed?.designHash === designHash() ? [] : ['deployed from other documents']),
  ];
}
