import { sealSteps } from '#conductor/flows/bmc/bios-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { stopFlow } from '#conductor/flows/engine/finish-flow.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import { insertFlow, listSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { type Plan, readPlan } from '#conductor/flows/plan/read-plan.ts';
import type { ProvisionRequest } from '#conductor/flows/request/request-provision.ts';
import { requireNoFlow, requireUnmoved } from '#conductor/flows/request/require-no-flow.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { together } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates, kindStartedBy } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flow-states.ts';
import { isWordOnRestored, nextProvisionState, type VerbEvent } from '#conductor/model/provision-states.ts';
import { type ApplyEventOptions, applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';
import { wipeOf } from '#conductor/nodes/requested-wipe.ts';

/**
 * Does what a verb does, in the transaction in which it was found possible: the flow before is ended, the node moved,
 * and the new flow, if there is one, inserted with its steps.
 * @returns whether a conductor has something to do for the node now
 * @throws AppError `conflict` for a node that leaves its clusters, `lease_lost` and `conflict` as `requireAction`, and
 * what planning throws
 */
export async function startWork(
  context: EngineContext,
  tx: Transaction,
  node: NodeRow,
  work: ProvisionRequest & { readonly event: VerbEvent; readonly flow: FlowRow | undefined },
): Promise<'to do' | 'nothing to do'> {
  const options = { conductor: context.config.conductorName, ...work.caller };
  const { actionId, actionToken: token } = work;
  const isTeardown = work.isTeardown === true || work.wipe !== undefined;
  if (actionId !== undefined && token !== undefined) await requireAction(tx, { actionId, token, isTeardown });
  await requireUnmoved(tx, node, work.seen);
  const { flow } = work;
  if (work.event === 'unhold') {
    await goOn(context, tx, { node, flow, options });
    return 'to do';
  }
  if (flow) {
    const isKnown = Object.hasOwn(flowKinds, flow.kind);
    const isWord = isWordOnRestored(node, work.event);
    if (isKnown && !isWord && isBesideStates(flowKinds[flow.kind])) requireNoFlow(node, flow, work.verb);
    const error = isWord
      ? `ended by the operator's '${work.verb}' after a restore of the database: nothing was done to the machine`
      : `stopped by the operator's '${work.verb}'`;
    if (work.event === 'abort') {
      await abort(context, tx, { node, flow, error, options });
      return 'to do';
    }
    await stopFlow(context, tx, flow, { error, thenEnd: true });
  }
  const wipe = wipeOf(node, work);
  const kind = kindToStart(node, work.event, wipe);
  const plan = kind ? await planRequested({ ...context, db: tx }, node, kind, { ...work, wipe }) : undefined;
  const requestedSteps = await sealSteps({ ...context, db: tx }, node.uuid, work.steps ?? []);
  if (wipe && kind && !fakesFlow('wipe', node)) await updateNode(tx, node.uuid, { owedWipe: wipe });
  if (kind === 'inspect') await updateNode(tx, node.uuid, { inspectionStartedAt: context.clock.now() });
  const isSkipped = kind === 'clean' && !(node.automatedClean ?? context.config.automatedClean);
  // with what this request itself has changed: its sender knows of that
  const planHash = work.planHash === undefined ? undefined : await plan?.hash();
  const moves = applyEvent(tx, node, work.event, {
    ...options,
    target: kind ? flowKinds[kind].target : null,
    ...(kind ? { lastError: null } : {}),
    ...(isSkipped ? { arrives: 'done' } : {}),
    ...(isWordOnRestored(node, work.event) ? { lastError: null, change: changeByWord(work.event) } : {}),
  });
  if (!kind || !plan || isSkipped) {
    await moves;
    return flow ? 'to do' : 'nothing to do';
  }
  const inserts = insertFlow(tx, {
    nodeUuid: node.uuid,
    kind,
    requestedBy: work.caller.user,
    actionId: work.actionId,
    requestedSteps,
    planHash,
    wipe: kind === 'wipe' || kind === 'teardown' ? wipe : undefined,
    steps: plan.steps,
  });
  await together([moves, inserts]);
  return 'to do';
}

/** Gives the changes as after an adoption by a flow: which disk holds the system nobody has seen. */
function changeByWord(event: VerbEvent): NodeChange {
  return event === 'adopt' ? { instanceCameUp: true, osDisk: null } : {};
}

/** Plans what the request would have done, as the node now is. */
export function planRequested(
  context: EngineContext,
  node: NodeRow,
  kind: FlowKindName,
  work: ProvisionRequest,
): Promise<Plan> {
  return readPlan(context, node, {
    kind,
    requested: work.steps ?? [],
    disableRamdisk: work.disableRamdisk,
    wipe: work.wipe,
  });
}

/** `undefined`: no flow. @param wipe see `wipeOf` */
export function kindToStart(node: NodeRow, event: VerbEvent, wipe?: WipeRequest): FlowKindName | undefined {
  if (isWordOnRestored(node, event)) return undefined;
  // the instance comes back whose service had failed
  if (event === 'abort') return node.provisionState === 'service failed' ? 'restore' : undefined;
  // manageable again needs no proof: the BMC was proven when the node left enroll
  if (nextProvisionState(node.provisionState, event) === 'manageable') return undefined;
  return event === 'provide' && wipe ? 'wipe' : kindStartedBy(event);
}

interface FlowOfNode {
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly options: Pick<ApplyEventOptions, 'conductor' | 'user' | 'project' | 'via'>;
}

/** Whether it does nothing at the machine, so that it may be broken off anywhere; a BMC may hold it for long. */
export function onlyReads(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && Object.hasOwn(flowKinds, flow.kind) && flowKinds[flow.kind].onlyReads === true;
}

/** The flow's own end moves the node, once it is off and isolated; a step that must not be interrupted ends first. */
async function abort(
  context: EngineContext,
  tx: Transaction,
  { node, flow, error, options }: FlowOfNode & { readonly error: string },
): Promise<void> {
  if (onlyReads(flow)) {
    await stopFlow(context, tx, flow, { error, thenEnd: true });
    await applyEvent(tx, node, 'abort', { ...options, target: null, lastError: error });
    return;
  }
  // what makes the node safe is at work now, and nobody waits
  if (flow.onHold !== null) await applyEvent(tx, node, 'unhold', options);
  const steps = await listSteps(tx, flow.uuid);
  const current = steps.find((step) => step.state === 'running' || step.state === 'waiting');
  if (current && !current.abortable && flow.onHold === null) {
    await updateFlow(tx, flow.uuid, { abortRequested: error });
  } else await stopFlow(context, tx, flow, { error, thenEnd: false });
}

async function goOn(
  context: EngineContext,
  tx: Transaction,
  { node, flow, options }: Omit<FlowOfNode, 'flow'> & { readonly flow: FlowRow | undefined },
): Promise<void> {
  await applyEvent(tx, node, 'unhold', options);
  if (!flow) return;
  const steps = await listSteps(tx, flow.uuid);
  for (const step of steps.filter((each) => each.state === 'waiting')) {
    await recordStepEvent(tx, step, 'succeeded', { conductor: options.conductor, now: context.clock.now() });
  }
  await updateFlow(tx, flow.uuid, { onHold: null, state: 'running', checkInMs: 0 });
}
