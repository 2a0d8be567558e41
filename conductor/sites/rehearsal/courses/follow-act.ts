import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import type {
  NodeAct,
  NodeFacts,
  ObservedAllocation,
  ObservedNode,
  RestingFacts,
} from '#conductor/sites/nodes/node-decision.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The action on whose behalf a node is followed, and the node as it would be enrolled. */
export interface FollowedFor {
  readonly actionId: string;
  readonly revisionId: number;
  readonly designHash: () => string;
  /** Asked for only where it is not enrolled. */
  readonly enrolled: () => { readonly node: ObservedNode; readonly rest: RestingFacts };
}

/** Flows that an act begins, one after another, and the node once they have succeeded. */
interface Followed {
  readonly flows: readonly FlowKindName[];
  readonly facts: NodeFacts;
}

/**
 * Follows an act of the engine on a node as `actOnNode` does it: which flows it begins, and what is known of the node once
 * they have succeeded. Pure.
 */
export function followAct(given: FollowedFor, facts: NodeFacts, act: NodeAct): Followed {
  if (act.kind === 'enrol') return { flows: [], facts: { ...facts, ...given.enrolled() } };
  const { node, rest } = facts;
  if (!node) throw new AppError('internal', `rehearse: ${act.kind} a node that is not enrolled`);
  const begin = (...flows: readonly FlowKindName[]): Followed => ({
    flows,
    facts: afterFlows(facts, flows, given.actionId),
  });
  const change = (more: Partial<ObservedNode>, others: Partial<NodeFacts> = {}): Followed => ({
    flows: [],
    facts: { ...facts, node: { ...node, ...more }, ...others },
  });
  const inLine = (differs: readonly string[]): Followed => change({}, rest ? { rest: { ...rest, differs } } : {});
  switch (act.kind) {
    case 'align':
      return inLine([]);
    case 'renew access':
      return inLine((rest?.differs ?? []).filter((field) => field !== 'driver_info'));
    case 'end maintenance':
      return change({ maintenance: false, maintenanceReason: null, fault: null });
    case 'reserve':
      return change(...reserved(given, node));
    case 'make available': {
      const [more, others] = act.reserves ? reserved(given, node) : [{}, {}];
      return change({ ...more, provisionState: 'available' }, others);
    }
    case 'forget reservation':
      return { flows: [], facts: withoutAllocation(facts) };
    case 'record': {
      const { revisionId, designHash } = given;
      const { instanceUuid } = node;
      const isAwaited = rest?.awaitsService === true;
      return change({}, { deployed: { revisionId, designHash: designHash(), instanceUuid, isAwaited } });
    }
    case 'deploy':
      return begin('deploy');
    case 'decommission':
      return begin('decommission');
    case 'leave cluster':
      return begin('leave_cluster');
    case 'enter service':
      return begin('enter_service');
    case 'verb':
      if (act.verb === 'deleted') return begin('teardown', act.wipes ? 'wipe' : 'clean');
      if (act.verb === 'provide') return begin(act.wipes ? 'wipe' : 'clean');
      if (act.verb === 'inspect') return begin('inspect');
      if (act.verb === 'clean') return begin('manual_clean');
      return node.provisionState === 'enroll' ? begin('verify') : change({ provisionState: 'manageable' });
    default:
      // `remove`, `put into maintenance`: with either the node's phase ends
      return { flows: [], facts };
  }
}

/** Returns what is known of a node once these flows of that action have succeeded on it. Pure. */
export function afterFlows(facts: NodeFacts, kinds: readonly FlowKindName[], actionId: string | null): NodeFacts {
  return kinds.reduce((before, kind) => afterFlow(before, kind, actionId), facts);
}

function afterFlow(facts: NodeFacts, kind: FlowKindName, actionId: string | null): NodeFacts {
  const { node, rest, deployed } = facts;
  if (!node) return facts;
  const isOut = kind === 'teardown';
  const flow = { ...endedFlow, kind, actionId };
  const after: NodeFacts = {
    ...(isOut ? withoutAllocation(facts) : facts),
    flow,
    node: {
      ...node,
      provisionState: restsAfter(kind) ?? node.provisionState,
      ...(isOut ? { instanceUuid: null } : {}),
      ...(kind === 'wipe' ? { owedWipe: null } : {}),
    },
    ...(deployed && kind === 'enter_service' ? { deployed: { ...deployed, isAwaited: false } } : {}),
  };
  if (!rest) return after;
  return {
    ...after,
    rest: {
      ...rest,
      mayBeBack: false,
      needsInspection: rest.needsInspection && kind !== 'inspect',
      needsHardware: rest.needsHardware && kind !== 'manual_clean',
      succeeded: new Set([...rest.succeeded, kind]),
    },
  };
}

/** Names the state in which a kind's success leaves a node; `undefined` = the one in which it was. */
function restsAfter(kind: FlowKindName): ProvisionState | undefined {
  // where nobody else can have it
  if (kind === 'wipe') return 'manageable';
  return flowKinds[kind].target ?? undefined;
}

const endedFlow = {
  uuid: 'rehearsed',
  state: 'succeeded',
  isOpen: false,
  requestedBy: null,
  error: null,
  held: null,
  onHold: null,
  abortRequested: null,
} as const;

function reserved(
  { actionId }: FollowedFor,
  node: ObservedNode,
): [Partial<ObservedNode>, { readonly allocation: ObservedAllocation }] {
  const uuid = `reservation of ${node.uuid}`;
  const allocation: ObservedAllocation = {
    uuid,
    state: 'active',
    nodeUuid: node.uuid,
    nodeName: null,
    actionId,
    lastError: null,
    waitingFor: null,
  };
  return [{ instanceUuid: uuid }, { allocation }];
}

function withoutAllocation({ allocation, node, ...facts }: NodeFacts): NodeFacts {
  if (!node) return facts;
  const isIts = allocation !== undefined && node.instanceUuid === allocation.uuid;
  return { ...facts, node: isIts ? { ...node, instanceUuid: null } : node };
}
