import type { EngineContext } from '#conductor/flows/context.ts';
import { cleanedEvent, endFlow, followWith, restBeforeWipe } from '#conductor/flows/engine/end-flow.ts';
import type { StepRecord } from '#conductor/flows/engine/record-outcome.ts';
import { summarizeTeardown } from '#conductor/flows/engine/summarize-teardown.ts';
import { hasChangedNothing } from '#conductor/flows/log/changed-nothing.ts';
import { simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import { insertSteps, listSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { lookAtInstance } from '#conductor/flows/log/left-running.ts';
import { recordStepEvent, recordStepEvents, type StepEventOptions } from '#conductor/flows/log/step-log.ts';
import { planCleanup } from '#conductor/flows/plan/plan-steps.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { countFlow, countStep } from '#conductor/kernel/metrics/metrics.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';
import { loggedIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { writeMaintenance } from '#conductor/nodes/change/change-node.ts';
import { addHistory, notifyWebhooks } from '#conductor/nodes/node-history.ts';
import { holdLease, holdNode, type Lease } from '#conductor/nodes/node-lease.ts';
import { type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';
import { paysOwedWipe } from '#conductor/nodes/requested-wipe.ts';
import { findReceiptOfFlow } from '#conductor/receipts/receipt-store.ts';
import { AppError, errorChain, faultOf } from '#shared/errors/app-error.ts';

/**
 * Records a step's failure. A failed main step skips the rest and starts the kind's clean-up; a failed clean-up step
 * lets the next one try.
 */
export async function failStep(context: EngineContext, record: StepRecord, error: unknown): Promise<void> {
  const { lease, flow, step } = record;
  const options = { conductor: context.config.conductorName, now: context.clock.now() };
  const fault = faultOf(error);
  const { code } = fault;
  context.log.error(
    { node: lease.nodeUuid, flow: flow.uuid, ...loggedIds(flow), step: stepTitle(step), code, err: error },
    'step failed',
  );
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await recordStepEvent(tx, step, 'failed', { ...options, error: errorChain(error), fault });
    await notifyWebhooks(
      tx,
      lease.nodeUuid,
      {
        type: 'node.step_failed',
        data: { flow: flow.uuid, kind: flow.kind, step: stepTitle(step), code, error: errorChain(error) },
      },
      flow,
    );
    if (step.phase === 'cleanup') return;
    await startCleanup(tx, flow, {
      ...options,
      state: 'failing',
      error: `${flow.kind} step ${stepTitle(step)} failed: ${errorChain(error)}`,
      harmless: hasChangedNothing(error) ? step.uuid : undefined,
    });
  });
  context.checkpoint('recorded');
  countStep(context, record, 'failed');
}

type SkipOptions = Pick<StepEventOptions, 'conductor' | 'now'>;

/** Skips what has not run and adds the kind's clean-up steps. @param options.harmless the step that has failed before it acted */
async function startCleanup(
  tx: Transaction,
  flow: Pick<FlowRow, 'uuid' | 'kind'>,
  options: SkipOptions & {
    readonly state: 'failing' | 'aborting';
    readonly error: string;
    readonly harmless?: string | undefined;
  },
): Promise<void> {
  const steps = await listSteps(tx, flow.uuid);
  await skipPending(tx, steps, options);
  const { isAsItWas, hasOnlyBooted } = lookAtInstance(flow, steps, options.harmless);
  if (!isAsItWas) {
    const from = Math.max(...steps.map((each) => each.position)) + 1;
    const cleanup = planCleanup(flowKinds[flow.kind], hasOnlyBooted);
    await insertSteps(tx, { flowUuid: flow.uuid, phase: 'cleanup', from, steps: cleanup });
  }
  await updateFlow(tx, flow.uuid, { state: options.state, error: options.error, onHold: null, checkInMs: 0 });
}

/**
 * An operator's word stops a flow that nobody works on: its step under way fails, and either its clean-up runs or
 * (`thenEnd`) it ends at once because the next flow sees to that.
 */
export async function stopFlow(
  context: EngineContext,
  tx: Transaction,
  flow: FlowRow,
  options: { readonly error: string; readonly thenEnd: boolean },
): Promise<void> {
  const fault = { code: 'aborted' } as const;
  const base = { conductor: context.config.conductorName, now: context.clock.now(), error: options.error, fault };
  const steps = await listSteps(tx, flow.uuid);
  for (const step of steps.filter((each) => each.state === 'running' || each.state === 'waiting')) {
    await recordStepEvent(tx, step, 'failed', base);
  }
  if (options.thenEnd) {
    await skipPending(tx, steps, base);
    await endFlow(context, tx, flow, { state: 'aborted', error: options.error });
    countFlow(context, flow, 'aborted');
  } else if (!isCleaningUp(flow.state)) {
    await startCleanup(tx, flow, { ...base, state: 'aborting' });
  }
}

/** An abort that had to wait for a step to end, which has. */
export async function abortFlow(context: EngineContext, lease: Lease, flow: FlowRow): Promise<void> {
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    await stopFlow(context, tx, flow, { error: flow.abortRequested ?? 'aborted', thenEnd: false });
  });
}

/** Skips what has not run. The failure before it stands at the step that has failed, and is not repeated. */
export async function skipPending(
  tx: Transaction,
  steps: readonly FlowStepRow[],
  { conductor, now }: SkipOptions,
): Promise<void> {
  const pending = steps.filter((each) => each.state === 'pending');
  if (pending.length > 0)
    await recordStepEvents(
      tx,
      pending.map((step) => ({ step, event: 'skipped', conductor, now })),
    );
}

/** A flow whose steps are through. */
export interface FinishedWork {
  readonly lease: Lease;
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly steps: readonly FlowStepRow[];
}

/** All steps (or all clean-up steps) are through: ends the flow and moves the node. */
export async function finishFlow(context: EngineContext, work: FinishedWork): Promise<void> {
  await context.db.transaction(async (tx) => {
    const node = await holdNode(tx, work.lease);
    await endFinished(context, tx, { ...work, node });
  });
  countFlow(context, work.flow);
}

/** The same, in a transaction that holds the lease. @param work the node as it is now, and what of it is still to change */
export async function endFinished(
  context: EngineContext,
  tx: Transaction,
  work: Omit<FinishedWork, 'lease'> & { readonly change?: NodeChange },
): Promise<void> {
  const { change = {} } = work;
  const node = await leaveWaitingState(context, tx, flowKinds[work.flow.kind], work.node);
  const broken = work.steps.find((step) => step.phase === 'main' && step.state === 'failed');
  if (broken && !isCleaningUp(work.flow.state)) {
    throw new AppError('internal', `flow ${work.flow.uuid} would succeed with failed step ${stepTitle(broken)}`);
  }
  const unpaid = isCleaningUp(work.flow.state) ? undefined : await whyUnpaid(tx, node, work.flow);
  if (unpaid !== undefined) {
    const failing = { state: 'failing', error: unpaid } as const;
    await updateNode(tx, node.uuid, change);
    await updateFlow(tx, work.flow.uuid, failing);
    await endInFailure(context, tx, { ...work, node, flow: { ...work.flow, ...failing } });
  } else if (isCleaningUp(work.flow.state)) {
    await updateNode(tx, node.uuid, change);
    await endInFailure(context, tx, { ...work, node });
  } else await endInSuccess(context, tx, { ...work, node, change: { ...change, ...changeBy(work.flow) } });
}

/** Explains why a wipe does not settle the node's pending wipe: without a machine there is no proof. */
async function whyUnpaid(tx: Transaction, node: NodeRow, flow: FlowRow): Promise<string | undefined> {
  if (flow.kind !== 'wipe' || !node.owedWipe) return undefined;
  if (!flow.wipe || !paysOwedWipe(flow.wipe, node.owedWipe)) return 'the node owes a wipe of all its disks';
  return (await findReceiptOfFlow(tx, flow.uuid))
    ? undefined
    : 'the node owes a wipe, and without receipt none counts: a fake deploy interface wipes nothing';
}

async function endInSuccess(
  context: EngineContext,
  tx: Transaction,
  { node, flow, steps, change }: Omit<FinishedWork, 'lease'> & { readonly change: NodeChange },
): Promise<void> {
  const kind = flowKinds[flow.kind];
  const conductor = context.config.conductorName;
  const event = flow.kind === 'clean' || flow.kind === 'wipe' ? cleanedEvent(node, flow) : kind.events.done;
  if (flow.kind === 'wipe') await noteWipe(context, tx, { node, flow });
  const ended = endFlow(context, tx, flow, { state: 'succeeded', warning: whyNotErased(flow, steps) });
  // started by an older release that does not support wipes
  const isUnwiped = flow.kind === 'clean' && node.owedWipe !== null;
  if (!event || isUnwiped) {
    await allTogether([ended, updateNode(tx, node.uuid, change)]);
    if (isUnwiped) await followWith(tx, { node, flow, kind: 'wipe' });
    return;
  }
  const wipes = (flow.wipe ?? node.owedWipe) !== null;
  const cleans = wipes || (node.automatedClean ?? context.config.automatedClean);
  const moves = applyEvent(tx, node, event, {
    conductor,
    ...requestIdsOf(flow),
    target: kind.next ? flowKinds[kind.next].target : null,
    lastError: null,
    change,
    arrives: kind.next === 'clean' && !cleans ? cleanedEvent(node, flow) : undefined,
  });
  const [moved] = await allTogether([moves, ended]);
  if (kind.next !== 'clean' || !cleans) return;
  const rests = wipes && (await restBeforeWipe(tx, { node: moved, flow, conductor }));
  if (!rests) await followWith(tx, { node, flow, kind: wipes ? 'wipe' : 'clean' });
}

/** Explains why an automated cleaning has erased nothing, for those who take the node for erased. */
function whyNotErased({ kind }: FlowRow, steps: readonly FlowStepRow[]): string | undefined {
  // a restarted cleaning has asked another ramdisk
  const gathered = steps.findLast(({ output }) => (output as JsonObject | null)?.['agent_steps'] !== undefined)?.output;
  const lacks = kind === 'clean' && (gathered as JsonObject | undefined)?.['agent_lacks_extension'] === 'clean';
  return lacks ? `nothing was erased by the agent, which has no extension clean: ${oldRamdisk}` : undefined;
}

const oldRamdisk = 'the ramdisk is too old, or was built without it';

async function noteWipe(
  context: EngineContext,
  tx: Transaction,
  { node, flow }: { readonly node: NodeRow; readonly flow: FlowRow },
): Promise<void> {
  await updateNode(tx, node.uuid, { owedWipe: null });
  if (await findReceiptOfFlow(tx, flow.uuid)) return;
  await addHistory(tx, {
    nodeUuid: node.uuid,
    eventType: 'wipe',
    event: `wipe ${simulatedWipe}`,
    conductor: context.config.conductorName,
    ...requestIdsOf(flow),
  });
}

/** Gives the changes that follow from an instance that runs. */
function changeBy({ kind }: FlowRow): NodeChange {
  if (kind === 'deploy') return { instanceCameUp: true };
  // what is adopted was not deployed by us: the disk of an instance before it may hold its data
  return kind === 'adopt' ? { instanceCameUp: true, osDisk: null } : {};
}

async function endInFailure(
  context: EngineContext,
  tx: Transaction,
  work: { readonly node: NodeRow; readonly flow: FlowRow; readonly steps: readonly FlowStepRow[] },
): Promise<void> {
  const { node, flow, steps } = work;
  const kind = flowKinds[flow.kind];
  const cleanup = steps.filter((step) => step.phase === 'cleanup' && step.state === 'failed');
  const aborted = flow.state === 'aborting';
  const state = aborted ? 'aborted' : 'failed';
  const { byHand } = summarizeTeardown(node.name ?? node.uuid, [{ flow: { ...flow, state }, steps }]);
  const remains = byHand.length === 0 ? '' : `. What remains by hand: ${byHand.join('; ')}`;
  const error = `${flow.error ?? 'unknown failure'}${remains}`;
  const lastError = [
    error,
    ...cleanup.map((step) => `clean-up step ${stepTitle(step)} failed too: ${step.error ?? ''}`),
  ].join('; ');
  await endFlow(context, tx, flow, { state, ...(remains ? { error } : {}) });
  const { fail } = kind.events;
  const { conductorName: conductor } = context.config;
  const ids = requestIdsOf(flow);
  if (fail) await applyEvent(tx, node, fail, { conductor, ...ids, target: null, lastError });
  else await updateNode(tx, node.uuid, { lastError });
  if (kind.fault && !aborted) {
    const note = { event: `maintenance on: ${lastError}`, conductor, ...ids };
    await writeMaintenance(tx, node.uuid, { on: true, reason: lastError, fault: kind.fault }, note);
  }
}

async function leaveWaitingState(
  context: EngineContext,
  tx: Transaction,
  kind: FlowKind,
  node: NodeRow,
): Promise<NodeRow> {
  const { resume } = kind.events;
  return resume && nextProvisionState(node.provisionState, resume)
    ? applyEvent(tx, node, resume, { conductor: context.config.conductorName })
    : node;
}
