import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import type { NodePhase } from '#conductor/model/site/site-run.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import type {
  NodeCase,
  NodeFacts,
  ObservedAllocation,
  ObservedFlow,
  ObservedNode,
  RestingFacts,
} from '#conductor/sites/nodes/node-decision.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

/** Plain values of nodes in every standing, for tests and for the table in the documents. */

export const thisAction = 'action-2';
export const earlierAction = 'action-1';
const instance = 'instance-1';

export const siteNode: SiteNode = {
  name: 'n1',
  tags: [],
  labels: {},
  resourceClass: 'big',
  driver: 'fake-hardware',
  driverInfo: {},
  properties: {},
  ports: [],
  traits: [],
};

export const observedNode = (more: Partial<ObservedNode> = {}): ObservedNode => ({
  uuid: 'node-1',
  provisionState: 'manageable',
  provisionUpdatedAt: new Date(0),
  maintenance: false,
  maintenanceReason: null,
  fault: null,
  instanceUuid: null,
  owner: null,
  lessee: null,
  retired: false,
  retiredReason: null,
  lastError: null,
  driver: 'redfish',
  deployInterface: null,
  owedWipe: null,
  ...more,
});

export const observedFlow = (more: Partial<ObservedFlow> = {}): ObservedFlow => ({
  uuid: 'flow-1',
  kind: 'clean',
  state: 'running',
  isOpen: true,
  actionId: thisAction,
  requestedBy: null,
  error: null,
  held: null,
  onHold: null,
  abortRequested: null,
  ...more,
});

export const observedAllocation = (more: Partial<ObservedAllocation> = {}): ObservedAllocation => ({
  uuid: instance,
  state: 'active',
  nodeUuid: 'node-1',
  nodeName: 'n1',
  actionId: thisAction,
  lastError: null,
  waitingFor: null,
  ...more,
});

export const inLine: RestingFacts = {
  differs: [],
  needsHardware: false,
  needsInspection: false,
  succeeded: new Set(),
};

/** Facts of a node that is there. */
export type EnrolledFacts = NodeFacts & { readonly node: ObservedNode };

/** A node at rest whose document it is in line with. */
export function restingFacts(node: Partial<ObservedNode>, more: Omit<NodeFacts, 'node'> = {}): EnrolledFacts {
  return { node: observedNode(node), rest: inLine, ...more };
}

export function nodeCase(facts: NodeFacts, more: Partial<NodeCase> & { readonly phase?: NodePhase } = {}): NodeCase {
  const { phase = 'prepare', ...given } = more;
  return { order: { node: siteNode, phase }, actionId: thisAction, designHash: () => 'now', facts, ...given };
}

/** The order as `redeploy_server` gives it, with Kubernetes and etcd. */
export const teardownOrder: TeardownOrder = {
  preserveLocalStorage: false,
  timeouts: {
    drainTimeout: 3600,
    drainGracePeriod: 1800,
    clearLabelsTimeout: 1800,
    removeEtcdTimeout: 1800,
    etcdReadyTimeout: 600,
  },
  notInClusterOk: false,
  force: false,
  kubernetes: true,
  etcd: true,
  afterwards: 'deploy',
};

/** A node that is to be torn down, with the kinds of flows that the action has behind it. */
export function teardownCase(
  facts: NodeFacts,
  {
    teardown = {},
    succeeded = [],
  }: { readonly teardown?: Partial<TeardownOrder>; readonly succeeded?: readonly FlowKindName[] } = {},
): NodeCase {
  const rest = { ...(facts.rest ?? inLine), succeeded: new Set(succeeded) };
  const order = { node: siteNode, phase: 'prepare' as const, teardown: { ...teardownOrder, ...teardown } };
  return nodeCase({ ...facts, rest }, { order });
}

export const nodeCases = {
  'no instance': {},
  'reserved by the site': { node: { instanceUuid: instance }, allocation: observedAllocation() },
  'deployed by the site': {
    node: { instanceUuid: instance },
    allocation: observedAllocation({ actionId: earlierAction }),
    deployed: { revisionId: 3, designHash: 'now', instanceUuid: instance, isAwaited: false },
  },
  "somebody's instance": { node: { instanceUuid: 'instance-2' } },
} as const satisfies Record<string, Partial<Omit<NodeFacts, 'node'>> & { node?: Partial<ObservedNode> }>;
export type NodeCaseName = keyof typeof nodeCases;

/** A node in this state, no flow being under way, as one of `standings` has it. */
export function factsOf(
  provisionState: ProvisionState,
  name: NodeCaseName,
  more: Omit<NodeFacts, 'node'> = {},
): EnrolledFacts {
  const { node = {}, ...others }: Partial<Omit<NodeFacts, 'node'>> & { node?: Partial<ObservedNode> } = nodeCases[name];
  return restingFacts({ provisionState, ...node }, { ...others, ...more });
}

/** The flow that leaves a node in this state when it fails. */
export const failedFlows: Readonly<Partial<Record<ProvisionState, FlowKindName>>> = {
  enroll: 'verify',
  'inspect failed': 'inspect',
  'clean failed': 'clean',
  'deploy failed': 'deploy',
  error: 'teardown',
};

/** `manage`, `align`, `done`, `failed`, `waits`: a decision in a word. */
export function nameDecision(given: NodeCase): string {
  const decision = decideNode(given);
  if (decision.kind === 'outcome') return decision.outcome.state === 'working' ? 'waits' : decision.outcome.state;
  const { act } = decision;
  if (act.kind !== 'verb') return act.kind;
  return act.wipes ? `${act.verb}, wiping` : act.verb;
}
