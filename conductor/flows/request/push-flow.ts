import { whyNeeded } from '#conductor/flows/bmc/bios-left-resets.ts';
import type { FlowsContext } from '#conductor/flows/context.ts';
import { stopFlow } from '#conductor/flows/engine/finish-flow.ts';
import { findOpenFlow, listOpenSteps, listSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { isBeside } from '#conductor/flows/request/require-no-flow.ts';
import { onlyReads } from '#conductor/flows/request/start-work.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isCleaningUp, isEnded } from '#conductor/model/flows/flow-states.ts';
import { stepKey, stepTitle, whyNotSkipped } from '#conductor/model/flows/planned-step.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { touchLease } from '#conductor/nodes/node-lease.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Has what the flow waits for looked at, or tried again, at once. Its limits stay.
 * @throws AppError `conflict` when no step waits, or the flow rests until something else happens, `node_locked`
 */
export async function retryNow(context: FlowsContext, node: NodeRow, caller: Caller): Promise<void> {
  // what works on it holds the node
  if ((await listOpenSteps(context.db, node.uuid)).some(isRetried)) return;
  await push(context, node, async (tx, { flow, steps }) => {
    if (flow.onHold !== null)
      throw new AppError('conflict', `Node ${node.uuid} is on hold for ${flow.onHold}: 'unhold' continues it.`);
    if (flow.held !== null) throw new AppError('conflict', `Node ${node.uuid} is held: ${flow.held}.`);
    const waiting = steps.find(({ state }) => state === 'waiting');
    if (steps.some(isRetried)) return;
    if (!waiting) throw new AppError('conflict', `Node ${node.uuid}: no step of its ${flow.kind} waits.`);
    await updateFlow(tx, flow.uuid, { checkInMs: 0 });
    await writeChangeNote(tx, node.uuid, changeNote(context, caller, `${stepTitle(waiting)} tried again at once`));
  });
}

/**
 * Leaves a step out that has not begun, or that the conductor retries.
 * @param stepUuid of the node's open flow
 * @throws AppError `not_found` for no step of that flow, `conflict` with why it may not be skipped, `node_locked`
 */
export async function skipStep(context: FlowsContext, node: NodeRow, stepUuid: string, caller: Caller): Promise<void> {
  await push(context, node, async (tx, { flow, steps }) => {
    const step = steps.find(({ uuid }) => uuid === stepUuid);
    if (!step) throw new AppError('not_found', `step: the ${flow.kind} of node ${node.uuid} has no step ${stepUuid}.`);
    const why = whyNotSkipped(step) ?? whyNotYet(flow, steps) ?? whyNeeded(steps, step);
    if (why !== undefined) throw new AppError('conflict', `step: ${stepTitle(step)} can't be skipped: ${why}.`);
    const { clock, config } = context;
    await recordStepEvent(tx, step, 'skipped', { conductor: config.conductorName, now: clock.now() });
    // one that was retried is what the flow waited for
    if (step.state === 'waiting') await updateFlow(tx, flow.uuid, { state: 'running', checkInMs: 0 });
    await writeChangeNote(tx, node.uuid, changeNote(context, caller, `${stepTitle(step)} skipped`));
  });
}

/** Checks whether the step is being retried at this moment. */
const isRetried = ({ state, retryUntil }: FlowStepRow): boolean => state === 'running' && retryUntil !== null;

/**
 * Explains why a step can't be skipped yet: when the ramdisk has booted the rest is planned again, and a skipped step would
 * be back.
 */
function whyNotYet({ kind }: FlowRow, steps: readonly FlowStepRow[]): string | undefined {
  const opening = new Set(flowKinds[kind].opening.map(stepKey));
  const isOpening = steps.some((step) => opening.has(stepKey(step)) && !isEnded(step.state));
  return isOpening ? 'the flow is planned again when the ramdisk has booted; skip it then' : undefined;
}

interface OpenFlow {
  readonly flow: FlowRow;
  readonly steps: readonly FlowStepRow[];
}

async function push(
  context: FlowsContext,
  node: NodeRow,
  change: (tx: Transaction, open: OpenFlow) => Promise<void>,
): Promise<void> {
  const read = async (tx: Transaction) => {
    const flow = await findOpenFlow(tx, node.uuid);
    return flow && { flow, steps: await listSteps(tx, flow.uuid) };
  };
  await changeUnlocked(
    context,
    node.uuid,
    async (tx, _node, open) => {
      if (!open) throw new AppError('conflict', `Node ${node.uuid} has no flow under way.`);
      const { flow } = open;
      if (isCleaningUp(flow.state))
        throw new AppError('conflict', `Node ${node.uuid}: its ${flow.kind} has failed, and the node is made safe.`);
      await change(tx, open);
    },
    undefined,
    read,
  );
  context.nudge(node.uuid);
}

/**
 * Has the conductor that is at the node's flow end it: at once, by cancelling the call that it waits for, or after a step
 * that must not be interrupted.
 * @returns false when nobody is at it, or its clean-up runs: then the abort is the caller's
 */
export async function askToAbort(context: FlowsContext, nodeUuid: string, error: string): Promise<boolean> {
  const isAsked = await context.db.transaction(async (tx) => {
    if (await touchLease(tx, nodeUuid)) return false;
    const flow = await findOpenFlow(tx, nodeUuid);
    if (!flow || isCleaningUp(flow.state) || onlyReads(flow)) return false;
    await updateFlow(tx, flow.uuid, { abortRequested: error, checkInMs: 0 });
    return true;
  });
  if (isAsked) context.nudge(nodeUuid);
  return isAsked;
}

/**
 * Stops a decommission, or a removal from the cluster, between two looks: at once, or when the look under way has ended,
 * which takes long where a cluster does not answer. Nothing is undone: the flow's error says what remains to be done by
 * hand.
 * @returns false when none is under way
 */
export async function abortTeardown(context: FlowsContext, nodeUuid: string, error: string): Promise<boolean> {
  // most aborts are of other flows: they need not wait for the node here, too
  if (!isBeside(await findOpenFlow(context.db, nodeUuid))) return false;
  const isStopped = await context.db.transaction(async (tx) => {
    const isFree = await touchLease(tx, nodeUuid);
    const flow = await findOpenFlow(tx, nodeUuid);
    if (!flow || !isBeside(flow)) return false;
    if (isFree) await stopFlow(context, tx, flow, { error, thenEnd: false });
    else await updateFlow(tx, flow.uuid, { abortRequested: error });
    return true;
  });
  if (isStopped) context.nudge(nodeUuid);
  return isStopped;
}
