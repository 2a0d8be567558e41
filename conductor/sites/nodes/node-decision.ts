import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates, restsIn } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName, FlowState } from '#conductor/model/flows/flow-states.ts';
import type { PluginTaskRef } from '#conductor/model/flows/planned-step.ts';
import type { ProvisionVerb } from '#conductor/model/provision-states.ts';
import { type Remark, textRemark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import type { AllocationState } from '#conductor/model/site/transitions.ts';
import type { NodeOrder } from '#conductor/sites/nodes/node-order.ts';

/** Facts that are known of a document's node when its next move is decided. Plain values. */
export interface NodeFacts {
  /** Absent = there is no node of that name. */
  readonly node?: ObservedNode;
  /** The flow under way, or else the last one. */
  readonly flow?: ObservedFlow;
  /** The site's reservation of the node. */
  readonly allocation?: ObservedAllocation;
  /** The deploy that the site has made of it (`site_nodes`). */
  readonly deployed?: ObservedDeploy;
  /** Why a deploy from its document would be refused, whatever has become of the node by then. */
  readonly undeployable?: string;
  /** Only of a node that no flow of this action works on. */
  readonly rest?: RestingFacts;
}

export type ObservedNode = Pick<
  NodeRow,
  | 'uuid'
  | 'provisionState'
  | 'provisionUpdatedAt'
  | 'maintenance'
  | 'maintenanceReason'
  | 'fault'
  | 'instanceUuid'
  | 'owner'
  | 'lessee'
  | 'retired'
  | 'retiredReason'
  | 'lastError'
  | 'driver'
  | 'deployInterface'
  | 'owedWipe'
>;

export interface ObservedFlow {
  readonly uuid: string;
  readonly kind: FlowKindName;
  readonly state: FlowState;
  readonly isOpen: boolean;
  readonly actionId: string | null;
  readonly requestedBy: string | null;
  readonly error: string | null;
  /** Code of the fault by which it failed; absent = it has not, or nobody knows. */
  readonly fault?: string;
  readonly held: string | null;
  readonly onHold: string | null;
  readonly abortRequested: string | null;
  /** The step that runs or waits now. */
  readonly step?: ObservedStep;
}

export interface ObservedStep {
  /** `deploy.write_image` */
  readonly name: string;
  readonly plugin: PluginTaskRef | null;
  readonly waitingFor: string | null;
  /** `writing image`, and how much of it: 0 to 100. */
  readonly phase?: string;
  readonly percent?: number;
}

export interface ObservedAllocation {
  readonly uuid: string;
  readonly state: AllocationState;
  readonly nodeUuid: string | null;
  /** For people. */
  readonly nodeName: string | null;
  /** The site action that made it. */
  readonly actionId: string | null;
  readonly lastError: string | null;
  readonly waitingFor: string | null;
}

export interface ObservedDeploy {
  readonly revisionId: number;
  readonly designHash: string;
  readonly instanceUuid: string | null;
  /** Nobody has seen it in service since its deploy. */
  readonly isAwaited: boolean;
}

export interface RestingFacts {
  /** Why the documents can't hold for this node at all: `port 52:… is node n7's`. */
  readonly impossible?: string;
  /** Fields of the node that are not as the documents say: `driver_info`, `port 52:54:00:…`. */
  readonly differs: readonly string[];
  /** RAID or BIOS settings are asked for and not known to be there. */
  readonly needsHardware: boolean;
  /** … and what that takes begins with deleting the arrays that there are. */
  readonly rebuildsRaid?: boolean;
  /** A wipe has kept disks of it, which nothing that prepares it may take. */
  readonly sparesDisks?: boolean;
  /** Something has to come about before its deploy counts: it joins a cluster, or answers. */
  readonly awaitsService?: boolean;
  /** It was never inspected, and a ramdisk could do it. */
  readonly needsInspection: boolean;
  /**
   * This action took it out of its clusters so long ago, or drained it before the end of a pause: somebody may have put it
   * back.
   */
  readonly mayBeBack?: boolean;
  /** Kinds of flows of this action that have succeeded on it. */
  readonly succeeded: ReadonlySet<FlowKindName>;
}

/** All that a decision is made from. */
export interface NodeCase {
  readonly order: NodeOrder;
  readonly actionId: string;
  /**
   * Computes the hash of what the documents say now (`compare-node.ts`); asked for only where it counts, for it is
   * asked of thousands.
   */
  readonly designHash: () => string;
  readonly facts: NodeFacts;
  /** Since the order to break off was given; milliseconds. */
  readonly cancelledMs?: number | undefined;
}

export type NodeAct =
  | {
      readonly kind:
        | 'enrol'
        | 'align'
        | 'renew access'
        | 'end maintenance'
        | 'reserve'
        | 'forget reservation'
        | 'deploy'
        | 'record'
        | 'decommission'
        | 'leave cluster'
        | 'remove'
        | 'enter service';
    }
  /** Out of `manageable`, its disks having been wiped just now: without a cleaning. */
  | { readonly kind: 'make available'; readonly reserves: boolean }
  /** With the RAID and BIOS steps when it is `clean`. `wipes`: what the order to tear it down says of its disks. */
  | {
      readonly kind: 'verb';
      readonly verb: Extract<ProvisionVerb, 'manage' | 'inspect' | 'clean' | 'provide' | 'deleted' | 'abort'>;
      readonly wipes?: true;
    }
  | { readonly kind: 'put into maintenance'; readonly reason: string };

export type NodeDecision =
  | { readonly kind: 'outcome'; readonly outcome: NodeOutcome }
  /** @property ends what has come of the node with that; absent = it goes on. */
  | { readonly kind: 'act'; readonly act: NodeAct; readonly doing: Remark; readonly ends?: NodeOutcome };

export const workingDecision = (doing: Remark): NodeDecision => ({
  kind: 'outcome',
  outcome: { state: 'working', doing },
});
export const failedDecision = (error: Remark): NodeDecision => ({
  kind: 'outcome',
  outcome: { state: 'failed', error },
});
export const doneDecision = (remark?: Remark): NodeDecision => ({
  kind: 'outcome',
  outcome: remark === undefined ? { state: 'done' } : { state: 'done', remark },
});
export const actDecision = (what: NodeAct, doing: Remark, ends?: NodeOutcome): NodeDecision => ({
  kind: 'act',
  act: what,
  doing,
  ...(ends ? { ends } : {}),
});

/** The flow of this action that has failed, and left the node where it is. Pure. */
export function ownFailure({ facts, actionId }: NodeCase, node: ObservedNode): ObservedFlow | undefined {
  const { flow } = facts;
  if (flow?.actionId !== actionId || (flow.state !== 'failed' && flow.state !== 'aborted')) return undefined;
  return staysWhereItIs(flow) || restsIn(flowKinds[flow.kind]) === node.provisionState ? flow : undefined;
}

/** Classifies the node's instance for the site: deployed by it, reserved by it, or nothing. Pure. */
export function isSites({ facts }: Pick<NodeCase, 'facts'>): 'deployed' | 'reserved' | undefined {
  const { node, deployed, allocation } = facts;
  if (!node || node.instanceUuid === null) return undefined;
  if (deployed?.instanceUuid === node.instanceUuid) return 'deployed';
  const isReserved = allocation?.actionId != null && allocation.uuid === node.instanceUuid;
  return isReserved ? 'reserved' : undefined;
}

/** A deploy of a site action that is through, and that no row records yet. Pure. */
export function isActionsDeploy({ facts }: Pick<NodeCase, 'facts'>, node: ObservedNode): boolean {
  const { flow } = facts;
  const isDeploy = flow?.kind === 'deploy' && flow.state === 'succeeded' && flow.actionId !== null;
  return isDeploy && node.provisionState === 'active' && isSites({ facts }) === 'reserved';
}

/** Names the owner of the node, when it is not the site's. Pure. */
export function whoseElse(given: Pick<NodeCase, 'facts'>, node: ObservedNode): Remark | undefined {
  if (node.owner !== null) return newRemark('owned', { owner: node.owner });
  if (node.lessee !== null) return newRemark('leased', { lessee: node.lessee });
  if (node.instanceUuid !== null && isSites(given) === undefined) {
    return newRemark('foreign-instance', { instance: node.instanceUuid });
  }
  return undefined;
}

/** Why the site keeps its hands off. Pure. */
export function whyForeign(
  given: Pick<NodeCase, 'facts'> & Partial<Pick<NodeCase, 'order'>>,
  node: ObservedNode,
): Remark | undefined {
  const teardown = given.order?.teardown;
  // who only wants to be rid of it needs no document that holds for it
  const isRemade = teardown === undefined || teardown.afterwards === 'deploy';
  const impossible = isRemade ? given.facts.rest?.impossible : undefined;
  return whoseElse(given, node) ?? (impossible === undefined ? undefined : textRemark(impossible));
}

/** Flows that leave their node in whatever state it is, well or not. Pure. */
export function staysWhereItIs({ kind }: Pick<ObservedFlow, 'kind'>): boolean {
  return isBesideStates(flowKinds[kind]);
}

/** Whether more has to be read than the node and its open flow. Pure. */
export function isBusy(facts: Pick<NodeFacts, 'node' | 'flow'>, actionId: string): boolean {
  return facts.node !== undefined && facts.flow?.isOpen === true && facts.flow.actionId === actionId;
}

/** The site has deployed it, and it is not back in service yet: until then nothing else is touched for the site's sake. Pure. */
export function isAwaited({ facts }: Pick<NodeCase, 'facts'>): boolean {
  return facts.rest?.awaitsService === true && facts.deployed?.isAwaited === true;
}
