import { renewal, tellOutdated } from '#conductor/model/outdated.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
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
import { nameOutdated } from '#conductor/sites/nodes/outdated.ts';

type Rule = (given: NodeCase, node: NodeStanding) => NodeDecision;

const wait: Rule = (_given, { provisionState }) => working(`in '${provisionState}'`);

/** From each state in which nobody works on the node; `wait` where somebody does, or is about to. */
const rules: Readonly<Record<ProvisionState, Rule>> = {
  enroll: (given) => align(given) ?? act({ kind: 'verb', verb: 'manage' }, 'verifying'),
  verifying: wait,
  manageable: makeAvailable,
  inspecting: wait,
  'inspect wait': wait,
  // of an earlier action: tried once more; not everything may be changed here, and in `manageable` it may
  'inspect failed': () => act({ kind: 'verb', verb: 'manage' }, 'leaving a failed inspection'),
  cleaning: wait,
  'clean wait': wait,
  'clean hold': wait,
  'clean failed': () => act({ kind: 'verb', verb: 'manage' }, 'leaving a failed cleaning'),
  available: reserve,
  deploying: wait,
  'wait call-back': wait,
  'deploy hold': wait,
  'deploy failed': mendDeploy,
  active: alreadyActive,
  deleting: wait,
  error: () => act({ kind: 'verb', verb: 'deleted' }, 'tearing down once more'),
  adopting: wait,
  'adopt failed': (_given, node) => failed(`its adoption failed: ${node.lastError ?? 'without a reason'}`),
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
export function decidePrepare(given: NodeCase, node: NodeStanding): NodeDecision {
  return rules[node.provisionState](given, node);
}

function align({ facts }: NodeCase): NodeDecision | undefined {
  const differs = facts.rest?.differs ?? [];
  return differs.length > 0 ? act({ kind: 'align' }, `bringing in line: ${differs.join(', ')}`) : undefined;
}

/** Pure. */
export function whyRetired({ retiredReason }: NodeStanding): string {
  return `it is retired${retiredReason ? `: ${retiredReason}` : ''}`;
}

function makeAvailable(given: NodeCase, node: NodeStanding): NodeDecision {
  const { rest } = given.facts;
  if (node.retired) return failed(whyRetired(node));
  const differing = align(given);
  if (differing) return differing;
  if (rest?.needsHardware && !rest.succeeded.has('manual_clean')) {
    return refuseRaid(given) ?? act({ kind: 'verb', verb: 'clean' }, 'setting up RAID and BIOS');
  }
  if (rest?.needsInspection && !rest.succeeded.has('inspect')) {
    return act({ kind: 'verb', verb: 'inspect' }, 'inspecting');
  }
  if (isJustWiped(given)) return act({ kind: 'make available', reserves: true }, 'reserving it');
  return act({ kind: 'verb', verb: 'provide' }, 'cleaning');
}

/** By this action, and nothing has written to its disks since: another cleaning would have nothing to do. Pure. */
export function isJustWiped({ facts, actionId }: Pick<NodeCase, 'facts' | 'actionId'>): boolean {
  const { flow, rest } = facts;
  if (!rest?.succeeded.has('wipe') || rest.succeeded.has('manual_clean')) return false;
  return flow?.actionId === actionId;
}

/** The rebuilding of arrays would take the disks that a wipe has kept, whichever action comes to it. */
function refuseRaid({ order, facts }: NodeCase): NodeDecision | undefined {
  const { rebuildsRaid, sparesDisks } = facts.rest ?? {};
  if (!rebuildsRaid || !(sparesDisks || order.teardown?.preserveLocalStorage)) return undefined;
  return failed(
    'its RAID is to be built anew, which begins with deleting all arrays, and a wipe has kept disks of it, which stay ' +
      'as they are: take the RAID out of its document and start update_site; or give the kept disks up: redeploy_server ' +
      'without preserve-local-storage wipes them all and builds it',
  );
}

function reserve(given: NodeCase, node: NodeStanding): NodeDecision {
  const { facts, actionId } = given;
  const { allocation, rest } = facts;
  const differing = align(given);
  if (differing) return differing;
  if (rest?.needsHardware && !rest.succeeded.has('manual_clean')) {
    return refuseRaid(given) ?? act({ kind: 'verb', verb: 'manage' }, 'leaving the pool for RAID and BIOS');
  }
  if (isSites(given) !== undefined) {
    const isNew = allocation?.actionId === actionId || (rest?.succeeded.size ?? 0) > 0;
    return isNew ? done() : done('it was prepared already');
  }
  if (node.retired) return failed(whyRetired(node));
  if (!allocation) return act({ kind: 'reserve' }, 'reserving it');
  if (allocation.state === 'allocating') {
    const why = allocation.waitingFor === null ? '' : `: ${allocation.waitingFor}`;
    return working(`waiting for its reservation${why}`);
  }
  if (allocation.state === 'error' && allocation.actionId === actionId) {
    return failed(`it could not be reserved: ${allocation.lastError ?? 'without a reason'}`);
  }
  // of an earlier action that came to nothing
  if (allocation.nodeUuid === null) return act({ kind: 'forget reservation' }, 'withdrawing an old reservation');
  if (allocation.nodeUuid === node.uuid) return working('waiting for its reservation');
  return failed(
    `allocation ${allocation.uuid}, which was made for it, has node ${allocation.nodeName ?? allocation.nodeUuid}`,
  );
}

/** What may not be changed of a node that has an instance. */
const isFixed = (field: string): boolean => /^(driver|resource_class|port .*)$/.test(field);

/** The instance is the site's: it is deployed anew, over what is there, unless the machine itself is to be another. */
function mendDeploy(given: NodeCase): NodeDecision {
  const { rest } = given.facts;
  // it was in service: nobody but its operator says that what is on it may go
  if (isSites(given) === 'deployed') return failed(rebuildFailed);
  const isKept = isSites(given) !== undefined && !rest?.needsHardware && !rest?.differs.some(isFixed);
  if (!isKept) return act({ kind: 'verb', verb: 'deleted' }, 'tearing down a failed deploy');
  return align(given) ?? done('its last deploy failed; it is reserved still');
}

/** Of a node that the site has deployed, and somebody else wanted deployed anew. */
export const rebuildFailed = `its rebuild failed; rebuild it, or: ${renewal}`;

function alreadyActive(given: NodeCase, node: NodeStanding): NodeDecision {
  if (isActionsDeploy(given, node)) return act({ kind: 'record' }, 'recording its deploy');
  if (isSites(given) !== 'deployed') return failed(notDeployedByUs(node));
  return renewAccess(given) ?? done(alreadyThere(given));
}

/** A BMC's new password, or address: without it nobody reaches a node in service. Nothing else of it is changed. Pure. */
export function renewAccess({ facts }: Pick<NodeCase, 'facts'>): NodeDecision | undefined {
  const differs = facts.rest?.differs ?? [];
  if (!differs.includes('driver_info') || differs.includes('driver')) return undefined;
  return act({ kind: 'renew access' }, 'bringing in line: driver_info');
}

/** Why an `active` node is none of the site's. Pure. */
export function notDeployedByUs({ instanceUuid }: NodeStanding): string {
  return instanceUuid === null
    ? 'it is active, and the site has not deployed it'
    : `it is active with instance ${instanceUuid}, which the site has not deployed`;
}

/** `it was deployed already`, and what the documents say otherwise by now. Pure. */
export function alreadyThere(given: Pick<NodeCase, 'facts' | 'designHash'>): string {
  const { deployed } = given.facts;
  const differs = deployed ? nameOutdated(given) : [];
  return deployed && differs.length > 0 ? tellOutdated(deployed.revisionId, differs) : 'it was deployed already';
}

function instanceElsewhere(given: NodeCase, node: NodeStanding): NodeDecision {
  if (isSites(given) !== 'deployed') return failed(`it is in '${node.provisionState}'`);
  return renewAccess(given) ?? done(`${alreadyThere(given)}; it is in '${node.provisionState}'`);
}

function instanceBroken(given: NodeCase, node: NodeStanding): NodeDecision {
  const why = node.lastError ?? 'without a reason';
  return failed(`it is in '${node.provisionState}': ${why} (baton watch ${given.order.node.name})`);
}
