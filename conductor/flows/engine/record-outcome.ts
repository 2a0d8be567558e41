import type { EngineContext } from '#conductor/flows/context.ts';
import { applyPostStepHook } from '#conductor/flows/engine/post-step-hooks.ts';
import { listSteps, replacePendingSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent, recordStepEvents, type StepEvent } from '#conductor/flows/log/step-log.ts';
import type { ConductorStepOutcome } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { countImageBytes, countStep } from '#conductor/kernel/metrics/metrics.ts';
import { valueWithout } from '#conductor/kernel/secrets/mask-document.ts';
import { nodeSecretTexts } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { isPowerCycle, type PlannedStep, rebootAfter, stepTitle } from '#conductor/model/flows/planned-step.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';
import { loggedIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { holdLease, holdNode, type Lease } from '#conductor/nodes/node-lease.ts';
import { getNode, type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';
import { hideSecrets } from '#shared/secret-words.ts';

export interface StepRecord {
  readonly lease: Lease;
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly step: FlowStepRow;
}

/** Nobody needs to look at a flow on hold before its operator has spoken. */
const farFutureMs = 365 * 86_400_000;

/** Facts that are recorded together with a step's success. */
export type AlongSuccess =
  /** The start of the step after it: each commit waits for the disk. */
  | { readonly start: FlowStepRow }
  /**
   * The end of the flow, whose last step it is; gets the node as it is, and what changes of it with the step's success.
   * Answers whether the flow has ended, with that change written.
   */
  | { readonly end: (tx: Transaction, node: NodeRow, change: NodeChange) => Promise<boolean> };

export interface Recorded {
  readonly came: 'goes on' | 'waits' | 'ended';
  /** `NodeWork.version` at that moment, where it is known. */
  readonly version?: string | undefined;
}

/** Commits what came of running or resuming a step. */
export async function recordOutcome(
  context: EngineContext,
  record: StepRecord,
  outcome: ConductorStepOutcome,
  along?: AlongSuccess,
): Promise<Recorded> {
  const answer = await writeOutcome(context, record, outcome, along);
  context.checkpoint('recorded');
  const { node, flow, step } = record;
  const fields = { node: node.uuid, flow: flow.uuid, ...loggedIds(flow), step: stepTitle(step) };
  if (answer.came === 'waits')
    context.log.info({ ...fields, reason: 'reason' in outcome && outcome.reason }, 'step waits');
  else {
    context.log.info(fields, 'step succeeded');
    countStep(context, record, 'succeeded');
    if (outcome.kind === 'done') countImageBytes(context, outcome.output);
  }
  return answer;
}

async function writeOutcome(
  context: EngineContext,
  record: StepRecord,
  outcome: ConductorStepOutcome,
  along: AlongSuccess | undefined,
): Promise<Recorded> {
  const { step, lease } = record;
  const facts = 'record' in outcome ? outcome.record : undefined;
  const starts = along && 'start' in along ? along.start : undefined;
  if (outcome.kind === 'done' && !step.inBand && !facts && starts) {
    const events = successEvents(context, record, outcome.output, starts);
    return { came: 'goes on', version: await recordStepEvents(context.db, events, lease) };
  }
  const came = await context.db.transaction(async (tx) => {
    const ends = along && 'end' in along ? along.end : undefined;
    // when the lease is lost, all of it is undone
    const held = ends ? holdNode(tx, lease) : holdLease(tx, lease).then(() => record.node);
    if (outcome.kind === 'hold') return (await allTogether([held, recordHold(context, tx, record, outcome)]))[1];
    if (outcome.kind === 'wait' || outcome.kind === 'again')
      return (await allTogether([held, recordWait(context, tx, record, outcome)]))[1];
    const [node, change] = await allTogether([held, facts?.(tx) ?? Promise.resolve({})]);
    const succeeds = recordSuccess(context, tx, record, outcome, starts);
    const [, hasEnded] = await allTogether([succeeds, ends?.(tx, node, change) ?? Promise.resolve(false)]);
    if (hasEnded) return 'ended';
    await updateNode(tx, record.node.uuid, change);
    return 'goes on';
  });
  return { came };
}

function successEvents(
  context: EngineContext,
  { node, step }: StepRecord,
  output: unknown,
  starts: FlowStepRow | undefined,
): StepEvent[] {
  const options = { conductor: context.config.conductorName, now: context.clock.now() };
  const succeeded = {
    step,
    event: 'succeeded',
    ...options,
    output: storedOutput(context, { node, step }, output),
  } as const;
  return [succeeded, ...(starts ? [{ step: starts, event: 'started', ...options } as const] : [])];
}

async function recordSuccess(
  context: EngineContext,
  tx: Transaction,
  record: StepRecord,
  outcome: Extract<ConductorStepOutcome, { kind: 'done' | 'reboot' }>,
  starts: FlowStepRow | undefined,
): Promise<void> {
  const { flow, step } = record;
  await applyPostStepHook(tx, { ...record, output: outcome.output, now: context.clock.now() });
  await recordStepEvents(tx, successEvents(context, record, outcome.output, starts));
  if ('plan' in outcome) {
    await replacePendingSteps(tx, flow.uuid, outcome.plan);
    await updateFlow(tx, flow.uuid, { hardwareManagerVersion: outcome.hardwareManagerVersion });
  }
  if (outcome.kind === 'reboot') {
    const steps = await listSteps(tx, flow.uuid);
    const pending = steps.filter((each) => each.state === 'pending');
    // a reboot before the ramdisk has booted brings nothing back
    const booted = steps.some((each) => isRamdiskBoot(each) && each.state === 'succeeded');
    if (booted && !pending.slice(0, 1).some(isRamdiskBoot) && !(step.inBand && isPowerCycle(pending))) {
      await replacePendingSteps(tx, flow.uuid, [rebootAfter(step), ...pending.map(asPlanned)]);
    }
  }
}

/** Hides secrets in a step's output, since steps may answer with arguments that they were sent. */
function storedOutput(
  { secrets }: Pick<EngineContext, 'secrets'>,
  { node, step }: Pick<StepRecord, 'node' | 'step'>,
  output: unknown,
): unknown {
  if (output === undefined || output === null) return null;
  return valueWithout(
    hideSecrets(() => nodeSecretTexts(secrets, node, step.args)),
    output,
  );
}

function isRamdiskBoot({ interface: stepInterface, step }: FlowStepRow): boolean {
  return stepInterface === 'deploy' && ['deploy', 'boot_ramdisk', 'reboot_ramdisk'].includes(step);
}

function asPlanned(step: FlowStepRow): PlannedStep {
  const { interface: stepInterface, args, priority, origin, inBand, abortable, rebootRequested, reason, plugin } = step;
  return {
    interface: stepInterface,
    step: step.step,
    args,
    priority,
    origin,
    inBand,
    abortable,
    rebootRequested,
    reason,
    ...(plugin ? { plugin } : {}),
  };
}

/** The flow rests; only an operator's word wakes it. */
async function recordHold(
  context: EngineContext,
  tx: Transaction,
  { node, flow, step }: StepRecord,
  { reason, code }: Extract<ConductorStepOutcome, { kind: 'hold' }>,
): Promise<'waits'> {
  const conductor = context.config.conductorName;
  await recordStepEvent(tx, step, 'waiting', {
    conductor,
    now: context.clock.now(),
    waitingFor: reason,
    fault: { code },
  });
  const fresh = await getNode(tx, node.uuid);
  if (nextProvisionState(fresh.provisionState, 'hold'))
    await applyEvent(tx, fresh, 'hold', { conductor, ...requestIdsOf(flow) });
  await updateFlow(tx, flow.uuid, { onHold: reason, state: 'waiting', checkInMs: farFutureMs });
  return 'waits';
}

async function recordWait(
  context: EngineContext,
  tx: Transaction,
  { node, flow, step }: StepRecord,
  outcome: Extract<ConductorStepOutcome, { kind: 'wait' | 'again' }>,
): Promise<'goes on' | 'waits'> {
  const now = context.clock.now();
  const conductor = context.config.conductorName;
  // looking again and finding the same is not an event: the log would grow with every heartbeat
  const unchanged =
    step.state === 'waiting' && step.waitingFor === outcome.reason && step.runAgain === (outcome.kind === 'again');
  const { wait } = flowKinds[flow.kind].events;
  const waitUntil = 'hasOwnLimit' in outcome ? null : step.waitUntil;
  const logged = unchanged
    ? Promise.resolve()
    : recordStepEvent(tx, { ...step, waitUntil }, 'waiting', {
        conductor,
        now,
        waitingFor: outcome.reason,
        fault: faultIn(outcome),
        ...(outcome.timeoutMs === Infinity
          ? {}
          : { [outcome.kind === 'again' ? 'retryUntil' : 'waitUntil']: new Date(now.getTime() + outcome.timeoutMs) }),
      });
  const begins = !unchanged && wait && nextProvisionState(node.provisionState, wait);
  const moved = begins ? applyEvent(tx, node, wait, { conductor }) : Promise.resolve();
  const limit = outcome.kind === 'again' ? step.retryUntil : waitUntil;
  const leftMs = limit ? limit.getTime() - now.getTime() : outcome.timeoutMs;
  const changed = updateFlow(tx, flow.uuid, {
    // nobody waits longer than was said
    checkInMs: Math.max(0, Math.min(outcome.checkEveryMs, leftMs)),
    ...(isCleaningUp(flow.state) ? {} : { state: 'waiting' }),
  });
  const [nudges] = await allTogether([changed, logged, moved]);
  // a heartbeat that came while we were at work would otherwise be noticed one period later
  return nudges !== flow.nudges && outcome.kind === 'wait' ? 'goes on' : 'waits';
}

function faultIn({ code, subject }: Fault): Fault {
  return subject === undefined ? { code } : { code, subject };
}
