import type { EngineContext } from '#conductor/flows/context.ts';
import type { StepRecord } from '#conductor/flows/engine/record-outcome.ts';
import { whyFaked } from '#conductor/flows/log/fakes-flow.ts';
import { insertFlow, replacePendingSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { whyNotToWipe } from '#conductor/flows/site-actions/action-lease.ts';
import { notifyRunners } from '#conductor/flows/site-actions/action-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { plannedCore } from '#conductor/model/flows/planned-step.ts';
import { loggedIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { holdLease } from '#conductor/nodes/node-lease.ts';
import { coveringWipe } from '#conductor/nodes/requested-wipe.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** Ends the flow, and says in the node's history how, after how long, and whose it was. */
export async function endFlow(
  context: Pick<EngineContext, 'clock' | 'config'>,
  tx: Transaction,
  flow: FlowRow,
  end: {
    readonly state: 'succeeded' | 'failed' | 'aborted';
    readonly error?: string;
    /** Something that success does not mean: `nothing was erased: …`. */
    readonly warning?: string | undefined;
  },
): Promise<void> {
  const now = context.clock.now();
  const { state, error, warning } = end;
  const ended = updateFlow(tx, flow.uuid, {
    state,
    endedAt: now,
    ...(error === undefined ? {} : { error, onHold: null }),
  });
  // its runner need not wait for its next look
  const notified = flow.actionId === null ? Promise.resolve() : notifyRunners(tx);
  const seconds = Math.max(0, Math.round((now.getTime() - flow.startedAt.getTime()) / 1000));
  const reason = error ?? flow.error;
  const said = state === 'succeeded' ? warning : reason;
  const about = { flow: flow.uuid, kind: flow.kind, seconds, ...(warning === undefined ? {} : { warning }) };
  const noted = addHistory(tx, {
    nodeUuid: flow.nodeUuid,
    severity: state === 'failed' || warning !== undefined ? 'ERROR' : 'INFO',
    eventType: 'flow',
    event: `${flow.kind} ${state} after ${seconds} s${said === undefined || said === null ? '' : `: ${said}`}`,
    conductor: context.config.conductorName,
    user: flow.requestedBy ?? undefined,
    ...requestIdsOf(flow),
    notify:
      state === 'succeeded'
        ? { type: 'node.flow_succeeded', data: about }
        : { type: 'node.flow_failed', data: { ...about, state, error: reason ?? null } },
  });
  await allTogether([ended, notified, noted]);
}

/** A ramdisk that is another one after each boot would be cleaned with for ever. */
const maxRestarts = 3;

export function mayRestartFlow(flow: FlowRow): boolean {
  return flowKinds[flow.kind].otherRamdisk === 'restarts' && flow.restarts < maxRestarts;
}

/** Restarts automated cleaning whose ramdisk was replaced meanwhile, with all steps that the new ramdisk has (seed 004). */
export async function restartFlow(context: EngineContext, record: StepRecord, error: unknown): Promise<void> {
  const { flow, step, node } = record;
  await context.db.transaction(async (tx) => {
    await holdLease(tx, record.lease);
    await recordStepEvent(tx, step, 'skipped', {
      conductor: context.config.conductorName,
      now: context.clock.now(),
      error: `cleaning restarts: ${errorChain(error)}`,
    });
    const gather = plannedCore(
      { interface: 'deploy', step: 'gather_steps', priority: 0 },
      'the ramdisk is another one',
    );
    await replacePendingSteps(tx, flow.uuid, [
      gather,
      ...flowKinds[flow.kind].closing.map((each) => plannedCore(each)),
    ]);
    await updateFlow(tx, flow.uuid, { restarts: flow.restarts + 1 });
  });
  context.checkpoint('recorded');
  context.log.warn({ node: node.uuid, flow: flow.uuid, ...loggedIds(flow), err: error }, 'cleaning restarts');
}

/** Starts what a flow has promised to be followed by, for the user who asked for it. */
export async function followWith(
  tx: Transaction,
  { node, flow, kind }: { readonly node: NodeRow; readonly flow: FlowRow; readonly kind: 'clean' | 'wipe' },
): Promise<void> {
  const withoutAgent = whyFaked(kind, node);
  const why = withoutAgent === undefined ? {} : { isFake: true, withoutAgent };
  const wipe = kind === 'wipe' ? (coveringWipe(flow.wipe, node.owedWipe) ?? undefined) : undefined;
  const steps = planSteps(flowKinds[kind], { requested: [], wipe, ...why });
  const asked = { requestedBy: flow.requestedBy ?? undefined, actionId: flow.actionId ?? undefined };
  await insertFlow(tx, { nodeUuid: node.uuid, kind, ...asked, ...requestIdsOf(flow), wipe, steps });
}

/**
 * A retired node gets no further instance: it rests where it can't be deployed (ironic-api.md §3.8). So does one that a
 * site action has wiped: it is in its cluster still, and in the pool it would be anybody's at once.
 */
export function cleanedEvent(
  node: Pick<NodeRow, 'retired'>,
  { kind, actionId }: Pick<FlowRow, 'kind' | 'actionId'>,
): 'cleaned' | 'done' {
  return node.retired || (kind === 'wipe' && actionId !== null) ? 'cleaned' : 'done';
}

/**
 * Lets a released node rest before its wipe. For a teardown that is paused, or a site action that is stopped, over, or done
 * with the node, nothing is begun that destroys anything: its node, released and about to be wiped, rests in `manageable`,
 * off and on no network, where nobody gets it before it is wiped. The action begins the wipe when it goes on, the next
 * `provide` does in any case.
 * @returns whether it rests
 */
export async function restBeforeWipe(
  tx: Transaction,
  { node, flow, conductor }: { readonly node: NodeRow; readonly flow: FlowRow; readonly conductor: string },
): Promise<boolean> {
  const { actionId } = flow;
  const why = actionId === null ? undefined : await whyNotToWipe(tx, { actionId, nodeName: node.name });
  if (why === undefined) return false;
  await applyEvent(tx, node, 'cleaned', { conductor, target: null, ...requestIdsOf(flow) });
  await addHistory(tx, {
    nodeUuid: node.uuid,
    eventType: 'wipe',
    event: `its wipe is not started: site action ${actionId} ${why}`,
    conductor,
    ...requestIdsOf(flow),
  });
  return true;
}
