import { eq } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { listSteps, recordStepEvent, replacePendingSteps, updateFlow } from '#conductor/flows/flow-store.ts';
import { applyPostStepHook } from '#conductor/flows/post-step-hooks.ts';
import type { ConductorStepOutcome } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { type FlowRow, type FlowStepRow, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { type NodeRow, nodeLeases } from '#conductor/kernel/db/schema/node.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { countStep } from '#conductor/kernel/metrics/count-flow.ts';
import { hideSecrets, valueWithout } from '#conductor/kernel/secrets/hide-secrets.ts';
import { nodeSecretTexts } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flow-states.ts';
import { type PlannedStep, rebootAfter, stepTitle } from '#conductor/model/planned-step.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';
import { applyEvent } from '#conductor/nodes/apply-event.ts';
import { isHeld, type Lease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface StepRecord {
  readonly lease: Lease;
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly step: FlowStepRow;
}

/** Nobody needs to look at a flow on hold before its operator has spoken. */
const farFutureMs = 365 * 86_400_000;

/** Commits what came of running or resuming a step. */
export async function recordOutcome(
  context: EngineContext,
  record: StepRecord,
  outcome: ConductorStepOutcome,
  /** Writes what belongs to a success, such as the start of the step after it. */
  along?: (tx: Transaction) => Promise<void>,
): Promise<'goes on' | 'waits'> {
  const answer = await context.db.transaction(async (tx) => {
    // when the lease is lost, all of it is undone
    const [, recorded] = await together([holdStep(tx, record), writeOutcome(context, tx, record, outcome, along)]);
    return recorded;
  });
  context.checkpoint('recorded');
  const { node, flow, step } = record;
  const fields = { node: node.uuid, flow: flow.uuid, step: stepTitle(step) };
  if (answer === 'waits') context.log.info({ ...fields, reason: 'reason' in outcome && outcome.reason }, 'step waits');
  else {
    context.log.info(fields, 'step succeeded');
    countStep(context, record, 'succeeded');
  }
  return answer;
}

async function writeOutcome(
  context: EngineContext,
  tx: Transaction,
  record: StepRecord,
  outcome: ConductorStepOutcome,
  along: ((tx: Transaction) => Promise<void>) | undefined,
): Promise<'goes on' | 'waits'> {
  if (outcome.kind === 'hold') return recordHold(context, tx, record, outcome.reason);
  if (outcome.kind === 'wait' || outcome.kind === 'again') return recordWait(context, tx, record, outcome);
  const [answer] = await together([recordSuccess(context, tx, record, outcome), along?.(tx) ?? Promise.resolve()]);
  return answer;
}

/**
 * Locks the lease, and makes sure that the flow still is what was acted on (the step's own writer looks at the step).
 * @throws AppError `lease_lost`: somebody has moved them on, and what came of acting is theirs no more.
 */
export async function holdStep(tx: Transaction, { lease, flow, step }: StepRecord): Promise<void> {
  const [current] = await tx
    .select({ flowState: flows.state, endedAt: flows.endedAt })
    .from(nodeLeases)
    .innerJoin(flowSteps, eq(flowSteps.uuid, step.uuid))
    .innerJoin(flows, eq(flows.uuid, flowSteps.flowUuid))
    .where(isHeld(lease))
    .for('update', { of: nodeLeases });
  const unchanged = current?.endedAt === null && isCleaningUp(current.flowState) === isCleaningUp(flow.state);
  if (!unchanged) throw new AppError('lease_lost', `${stepTitle(step)} was ended by somebody else`);
}

async function recordSuccess(
  context: EngineContext,
  tx: Transaction,
  { node, flow, step }: StepRecord,
  outcome: Extract<ConductorStepOutcome, { kind: 'done' | 'reboot' }>,
): Promise<'goes on'> {
  const now = context.clock.now();
  const conductor = context.config.conductorName;
  await applyPostStepHook(tx, { node, flow, step, output: outcome.output, now });
  await recordStepEvent(tx, step, 'succeeded', {
    conductor,
    now,
    output: storedOutput(context, { node, step }, outcome.output),
  });
  if ('plan' in outcome) {
    await replacePendingSteps(tx, flow.uuid, outcome.plan);
    await updateFlow(tx, flow.uuid, { hardwareManagerVersion: outcome.hardwareManagerVersion });
  }
  if (outcome.kind === 'reboot') {
    const steps = await listSteps(tx, flow.uuid);
    const pending = steps.filter((each) => each.state === 'pending');
    // a reboot before the ramdisk has booted brings nothing back
    const booted = steps.some((each) => isRamdiskBoot(each) && each.state === 'succeeded');
    if (booted && !pending.slice(0, 1).some(isRamdiskBoot)) {
      await replacePendingSteps(tx, flow.uuid, [rebootAfter(step), ...pending.map(asPlanned)]);
    }
  }
  return 'goes on';
}

/** Steps may answer what they were told. */
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
  reason: string,
): Promise<'waits'> {
  const conductor = context.config.conductorName;
  await recordStepEvent(tx, step, 'waiting', { conductor, now: context.clock.now(), waitingFor: reason });
  const fresh = await getNode(tx, node.uuid);
  if (nextProvisionState(fresh.provisionState, 'hold')) await applyEvent(tx, fresh, 'hold', { conductor });
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
  // looking again and finding the same is no event: the log would grow with every heartbeat
  const unchanged =
    step.state === 'waiting' && step.waitingFor === outcome.reason && step.runAgain === (outcome.kind === 'again');
  const { wait } = flowKinds[flow.kind].events;
  const logged = unchanged
    ? Promise.resolve()
    : recordStepEvent(tx, step, 'waiting', {
        conductor,
        now,
        waitingFor: outcome.reason,
        ...(outcome.timeoutMs === Infinity
          ? {}
          : { [outcome.kind === 'again' ? 'retryUntil' : 'waitUntil']: new Date(now.getTime() + outcome.timeoutMs) }),
      });
  const begins = !unchanged && wait && nextProvisionState(node.provisionState, wait);
  const moved = begins ? applyEvent(tx, node, wait, { conductor }) : Promise.resolve();
  const limit = outcome.kind === 'again' ? step.retryUntil : step.waitUntil;
  const leftMs = limit ? limit.getTime() - now.getTime() : outcome.timeoutMs;
  const changed = updateFlow(tx, flow.uuid, {
    // nobody waits longer than was said
    checkInMs: Math.max(0, Math.min(outcome.checkEveryMs, leftMs)),
    ...(isCleaningUp(flow.state) ? {} : { state: 'waiting' }),
  });
  const [nudges] = await together([changed, logged, moved]);
  // a heartbeat that came while we were at work would otherwise be noticed one period later
  return nudges !== flow.nudges && outcome.kind === 'wait' ? 'goes on' : 'waits';
}
