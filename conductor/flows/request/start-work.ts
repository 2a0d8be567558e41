import { sealSteps } from '#conductor/flows/bmc/bios-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { stopFlow } from '#conductor/flows/engine/finish-flow.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import { insertFlow, listSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { type Plan, type PlanContext, readPlan } from '#conductor/flows/plan/read-plan.ts';
import type { Work } from '#conductor/flows/request/admit.ts';
import type { ProvisionRequest } from '#conductor/flows/request/provision-request.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { VerbEvent } from '#conductor/model/provision-states.ts';
import { type RequestIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { type ApplyEventOptions, applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';

/** Admitted work, with the request that it comes from and the node's open flow. */
export interface AdmittedWork {
  readonly request: ProvisionRequest;
  readonly work: Work;
  readonly flow: FlowRow | undefined;
  /** Reference to the image, as `PlanRequest` has it. */
  readonly pinnedImage?: string | undefined;
}

/**
 * Does what a verb does, in the transaction in which it was admitted: the flow before is ended, the node moved, and the
 * new flow, if there is one, inserted with its steps.
 * @returns whether a conductor has something to do for the node now
 * @throws AppError what planning throws
 */
export async function startWork(
  context: EngineContext,
  tx: Transaction,
  node: NodeRow,
  { request, work, flow, pinnedImage }: AdmittedWork,
): Promise<'to do' | 'nothing to do'> {
  const options = { conductor: context.config.conductorName, ...request.caller };
  if (work.openFlow !== 'none') {
    const error = work.isWord
      ? `ended by the operator's '${request.verb}' after a restore of the database: nothing was done to the machine`
      : `stopped by the operator's '${request.verb}'`;
    await meetOpenFlow(context, tx, { node, flow, options, error, fate: work.openFlow });
    if (work.openFlow !== 'ended') return 'to do';
  }
  const begun = work.kind && (await planFlow(context, tx, node, { request, work, kind: work.kind, pinnedImage }));
  const moves = applyEvent(tx, node, work.event, {
    ...options,
    target: work.kind ? flowKinds[work.kind].target : null,
    ...(work.kind ? { lastError: null } : {}),
    ...(work.isSkipped ? { arrives: 'done' } : {}),
    ...(work.isWord ? { lastError: null, change: changeByWord(work.event) } : {}),
  });
  if (!begun || work.isSkipped) {
    await moves;
    return flow ? 'to do' : 'nothing to do';
  }
  await allTogether([moves, insertFlow(tx, begun)]);
  return 'to do';
}

/** Plans the flow that begins, and notes on the node what it owes from now on. */
async function planFlow(
  context: EngineContext,
  tx: Transaction,
  node: NodeRow,
  { request, work, kind, pinnedImage }: Omit<AdmittedWork, 'flow'> & { readonly kind: FlowKindName },
): Promise<Parameters<typeof insertFlow>[1]> {
  const { wipe } = work;
  const inTransaction = { ...context, db: tx };
  const plan = await planWork(inTransaction, node, { kind, wipe, request, pinnedImage });
  const requestedSteps = await sealSteps(inTransaction, node.uuid, request.steps ?? []);
  if (wipe && !fakesFlow('wipe', node)) await updateNode(tx, node.uuid, { owedWipe: wipe });
  if (flowKinds[kind].during === 'inspecting')
    await updateNode(tx, node.uuid, { inspectionStartedAt: context.clock.now() });
  return {
    nodeUuid: node.uuid,
    kind,
    requestedBy: request.caller.user,
    ...requestIdsOf(request.caller),
    actionId: request.actionId,
    requestedSteps,
    // with what this request itself has changed: its sender knows of that
    planHash: request.planHash === undefined ? undefined : await plan.hash(),
    wipe: kind === 'wipe' || kind === 'teardown' ? wipe : undefined,
    steps: plan.steps,
  };
}

/** Gives the changes as after an adoption by a flow: which disk holds the system nobody has seen. */
function changeByWord(event: VerbEvent): NodeChange {
  return event === 'adopt' ? { instanceCameUp: true, osDisk: null } : {};
}

/** Plans what the request would have done, as the node now is. */
export function planWork(
  context: PlanContext,
  node: NodeRow,
  {
    kind,
    wipe,
    request,
    pinnedImage,
  }: Pick<Work, 'wipe'> & {
    readonly pinnedImage?: string | undefined;
    readonly kind: FlowKindName;
    readonly request: Pick<ProvisionRequest, 'steps' | 'disableRamdisk'>;
  },
): Promise<Plan> {
  const { disableRamdisk } = request;
  return readPlan(context, node, { kind, requested: request.steps ?? [], disableRamdisk, wipe, pinnedImage });
}

interface FlowOfNode {
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly options: Pick<ApplyEventOptions, 'conductor' | 'user' | 'project' | 'via' | keyof RequestIds>;
}

/** Returns whether it does nothing at the machine, so that it may be broken off anywhere; a BMC may hold it for long. */
export function onlyReads(flow: Pick<FlowRow, 'kind'> | undefined): boolean {
  return flow !== undefined && Object.hasOwn(flowKinds, flow.kind) && flowKinds[flow.kind].onlyReads === true;
}

/** Has the flow under way meet the fate that the verb has for it. */
async function meetOpenFlow(
  context: EngineContext,
  tx: Transaction,
  {
    fate,
    flow,
    ...met
  }: Omit<FlowOfNode, 'flow'> & {
    readonly flow: FlowRow | undefined;
    readonly error: string;
    readonly fate: Work['openFlow'];
  },
): Promise<void> {
  if (fate === 'goes on') return goOn(context, tx, { ...met, flow });
  if (!flow) return;
  if (fate === 'aborted') return abort(context, tx, { ...met, flow });
  await stopFlow(context, tx, flow, { error: met.error, thenEnd: true });
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
