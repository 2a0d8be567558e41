import { flowKinds, isBesideStates, restsIn } from '#conductor/model/flow-kinds.ts';
import type { ProvisionVerb } from '#conductor/model/provision-states.ts';
import { type Remark, textRemark } from '#conductor/model/remark.ts';
import { newRemark } from '#conductor/model/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site-run.ts';
import type { NodeFacts, ObservedFlow, ObservedNode } from '#conductor/sites/nodes/node-facts.ts';
import type { NodeOrder } from '#conductor/sites/nodes/node-order.ts';

/** All that a decision is made from. */
export interface NodeCase {
  readonly order: NodeOrder;
  readonly actionId: string;
  /** Of what the documents say now (`compare-node.ts`); asked for only where it counts, for it is asked of thousands. */
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

export const working = (doing: Remark): NodeDecision => ({ kind: 'outcome', outcome: { state: 'working', doing } });
export const failed = (error: Remark): NodeDecision => ({ kind: 'outcome', outcome: { state: 'failed', error } });
export const done = (remark?: Remark): NodeDecision => ({
  kind: 'outcome',
  outcome: remark === undefined ? { state: 'done' } : { state: 'done', remark },
});
export const act = (what: NodeAct, doing: Remark, ends?: NodeOutcome): NodeDecision => ({
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

/** What the node's instance is to the site: deployed by it, reserved by it, or nothing. Pure. */
export function isSites({ facts }: Pick<NodeCase, 'facts'>): 'deployed' | 'reserved' | undefined {
  const { node, deployed, allocation } = facts;
  if (!node || node.instanceUuid === null) return undefined;
  if (deployed?.instanceUuid === node.instanceUuid) return 'deployed';
  const isReserved = allocation?.actionId != null && allocation.uuid === node.instanceUuid;
  return isReserved ? 'reserved' : undefined;
}

/** A deploy of a site action that is through, and that no row tells of yet. Pure. */
export function isActionsDeploy({ facts }: Pick<NodeCase, 'facts'>, node: ObservedNode): boolean {
  const { flow } = facts;
  const isDeploy = flow?.kind === 'deploy' && flow.state === 'succeeded' && flow.actionId !== null;
  return isDeploy && node.provisionState === 'active' && isSites({ facts }) === 'reserved';
}

/** Whose the node is, when it is not the site's. Pure. */
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
