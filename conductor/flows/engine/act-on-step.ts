import { noteReset } from '#conductor/flows/bmc/bios-left-resets.ts';
import {
  forgetReset,
  freePower,
  hasBeenReset,
  holdingPower,
  isHttpAnswer,
  judgesByWhatIsShown,
  noteOffOf,
  noteOffOfStep,
  saysItIsOver,
  untilPowerIsFree,
} from '#conductor/flows/bmc/hold-power.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { mayRestartFlow, restartFlow } from '#conductor/flows/engine/end-flow.ts';
import { abortFlow, endFinished, type FinishedWork, failStep } from '#conductor/flows/engine/finish-flow.ts';
import { isHeld } from '#conductor/flows/engine/hold-flow.ts';
import { changesNode } from '#conductor/flows/engine/post-step-hooks.ts';
import { recordOutcome } from '#conductor/flows/engine/record-outcome.ts';
import { loadStepContext, type Work } from '#conductor/flows/load-step-context.ts';
import { updateFlow } from '#conductor/flows/log/flow-store.ts';
import { noteSilence } from '#conductor/flows/log/note-silence.ts';
import { recordStepEvents } from '#conductor/flows/log/step-log.ts';
import type { ConductorStepOutcome } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { countFlow, countHop } from '#conductor/kernel/metrics/metrics.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';
import { loggedIds } from '#conductor/model/request-ids.ts';
import { applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { holdLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { AppError, errorChain, errorCode, faultOf, isRetryable } from '#shared/errors/app-error.ts';

/** A passing fault (a BMC that is away for a moment) is tried again this often. */
const retryEveryMs = 5_000;

/** `started` = its start was recorded with the end of the step before. */
type Mode = 'run' | 'resume' | 'started';

/** The next step, whose start is recorded already, and `NodeWork.version` at that moment, where it is known. */
export interface Started {
  readonly step: FlowStepRow;
  readonly version: string | undefined;
}

/** Runs or resumes one step and records what came of it; answers whether the flow goes on at once, or with the next step. */
export async function actOnStep(
  work: Work,
  mode: Mode,
  {
    step: row,
    next,
    steps,
  }: {
    readonly step: FlowStepRow;
    readonly next: FlowStepRow | 'end' | undefined;
    readonly steps: readonly FlowStepRow[];
  },
): Promise<'goes on' | 'waits' | 'released' | Started> {
  const { context, lease, flow } = work;
  const { step, node } = mode === 'run' ? await recordStart(work, row) : { step: row, node: work.node };
  const record = { lease, node, flow, step };
  const outcome = await act({ ...work, node }, mode, { step, isRepeated: mode === 'run' && row.state !== 'pending' });
  if (outcome === undefined) return 'goes on';
  try {
    // what a step asks for beyond its success decides again what comes next
    const isPlain = outcome.kind === 'done' && !('plan' in outcome) && !changesNode({ flow, step });
    const goesOn = next && isPlain && flow.abortRequested === null;
    if (!goesOn) return (await recordOutcome(context, record, outcome)).came === 'waits' ? 'waits' : 'goes on';
    if (next === 'end') {
      const isFollowed = mayBeFollowed(context, work);
      const end = (tx: Transaction, current: NodeRow, change: NodeChange) =>
        endWithStep(context, tx, { lease, flow, node: current, steps, change, isFollowed });
      const { came } = await recordOutcome(context, record, outcome, { end });
      if (came !== 'ended') return came;
      countFlow(context, flow);
      return isFollowed ? 'goes on' : 'released';
    }
    const now = context.clock.now();
    const { version } = await recordOutcome(context, record, outcome, { start: next });
    context.checkpoint('started');
    logStarted(context, flow, next);
    if (mode === 'resume') countHop(context, work.session);
    return { step: { ...next, state: 'running', startedAt: now }, version };
  } catch (error) {
    // what the agent answered is not what the step's hook needs
    if (errorCode(error) !== 'agent_error') throw error;
    await failStep(context, record, error);
    return 'goes on';
  }
}

/**
 * Does the step's work on the outside world, without a transaction. `undefined` = it failed, or the flow begins again
 * with another ramdisk: that is recorded.
 */
async function act(
  work: Work,
  mode: Mode,
  { step, isRepeated }: { readonly step: FlowStepRow; readonly isRepeated: boolean },
): Promise<ConductorStepOutcome | undefined> {
  const { context, lease, node, flow } = work;
  const call = work.calls.begin(flow.uuid);
  const signal = AbortSignal.any([work.signal, call.signal]);
  const loaded = await loadStepContext({ ...work, signal }, { step, isRepeated, noteSilence });
  const stepContext = Object.assign(loaded, { noteOff: () => noteOffOfStep(loaded) });
  const definition = context.steps.find(step, flowKinds[flow.kind]);
  const permitAbort = (): void => {
    if (mayBeBrokenOff(step, flow) && !isHeld()) call.permit();
  };
  let isHeld = (): boolean => node.powerHold?.step === step.uuid;
  let hasAsked = (): boolean => false;
  // a resumed step may have held it itself
  const mayHold = mode === 'resume' && !step.inBand && definition?.mustNotLosePower !== undefined;
  const free = () => (isHeld() || mayHold ? freePower(stepContext, step.uuid) : undefined);
  try {
    if (!definition) {
      throw new AppError('not_supported', `this conductor's release knows no step ${step.interface}.${step.step}`);
    }
    const isReset = mode === 'run' && definition.resume !== undefined && (await hasBeenReset(stepContext));
    if (isReset) await noteReset(stepContext);
    const resumes = mode === 'resume' || isReset ? definition.resume : undefined;
    const holding = resumes ? undefined : await holdingPower(stepContext, definition);
    isHeld = holding?.isHeld ?? isHeld;
    hasAsked = holding?.hasAsked ?? hasAsked;
    // an agent's step says by now whether it holds power; a BMC's that may holds it later
    if (step.inBand || definition.mustNotLosePower === undefined) permitAbort();
    // a reset of what waits is noted, too: the conductor may die amid it
    const resumed = definition.mustNotLosePower
      ? { ...stepContext, noteOff: () => noteOffOf(stepContext) }
      : stepContext;
    const outcome = await (resumes ? resumes(resumed) : definition.run(holding?.context ?? stepContext));
    context.checkpoint('acted');
    if (outcome.kind === 'again' && isHeld()) await forgetReset(stepContext, step.uuid);
    if (outcome.kind === 'done' || outcome.kind === 'reboot') await free();
    return outcome;
  } catch (error) {
    // stopped or taken over: the log still says `started`, so the next one runs the step again
    if (work.signal.aborted) throw work.signal.reason;
    if (call.signal.aborted) {
      await abortFlow(context, lease, { ...flow, abortRequested: errorChain(call.signal.reason) });
      return undefined;
    }
    // a database that is away for a moment is not a fault of the step: the next period tries again
    if (errorCode(error) === 'lease_lost' || errorCode(error) === 'database_error') throw error;
    const record = { lease, node, flow, step };
    if (errorCode(error) === 'version_mismatch' && mayRestartFlow(flow)) {
      await free();
      await restartFlow(context, record, error);
      return undefined;
    }
    if (errorCode(error) === 'power_held') return untilPowerIsFree(stepContext, error);
    // a BMC that restarts amid what it was asked for answers anything: only the step's own word ends that
    const hasBegun = mode === 'resume' || node.powerHold?.wasOff === true;
    // this run has asked for it, or one before may have: its conductor died, or it heard no answer
    const mayHaveBegun = hasAsked() || (isRepeated && !step.inBand && node.powerHold?.step === step.uuid);
    const isUnderWay = isHeld() && ((hasBegun && isHttpAnswer(error)) || (mayHaveBegun && judgesByWhatIsShown(error)));
    if (!isRetryable(error) && !isUnderWay) {
      if (saysItIsOver(error, step)) await free();
      await failStep(context, record, error);
      return undefined;
    }
    return {
      // what waits is asked again; only what was acting is run again
      kind: mode === 'resume' ? 'wait' : 'again',
      reason: `another try after: ${errorChain(error)}`,
      ...faultOf(error),
      timeoutMs: context.config.retryTimeoutMs,
      // within a short time limit there is more than one try too
      checkEveryMs: Math.min(retryEveryMs, context.config.retryTimeoutMs / 4),
    };
  } finally {
    call.end();
  }
}

/** Returns whether an abort may cancel the call that the step is at; the clean-up that makes the machine safe goes on. */
function mayBeBrokenOff(step: FlowStepRow, flow: FlowRow): boolean {
  return step.abortable && step.phase === 'main' && !isCleaningUp(flow.state);
}

/**
 * The flow's end, with that of its last step; what follows it is looked at where all of it is. Answers whether it has
 * ended: not while the node's maintenance holds it.
 */
async function endWithStep(
  context: EngineContext,
  tx: Transaction,
  work: FinishedWork & { readonly change: NodeChange; readonly isFollowed: boolean },
): Promise<boolean> {
  if (isHeld(work)) return false;
  const released = work.isFollowed ? Promise.resolve() : releaseLease(tx, work.lease);
  await allTogether([endFinished(context, tx, work), released]);
  return true;
}

/** Commits `started` before anything is done, and takes the node out of its waiting state. */
async function recordStart(
  work: Work,
  step: FlowStepRow,
): Promise<{ readonly step: FlowStepRow; readonly node: NodeRow }> {
  const { context, lease, flow } = work;
  let { node } = work;
  const now = context.clock.now();
  const conductor = context.config.conductorName;
  const started = { step, event: 'started', conductor, now } as const;
  const { resume } = flowKinds[flow.kind].events;
  const resumes = resume && nextProvisionState(node.provisionState, resume) ? resume : undefined;
  // the agent's next step will wait as the one before did: no back and forth for moments
  if (step.inBand || (!resumes && flow.state !== 'waiting')) await recordStepEvents(context.db, [started], lease);
  else {
    await context.db.transaction(async (tx) => {
      await allTogether([holdLease(tx, lease), recordStepEvents(tx, [started])]);
      if (resumes) node = await applyEvent(tx, node, resumes, { conductor });
      if (flow.state === 'waiting') await updateFlow(tx, flow.uuid, { state: 'running' });
    });
  }
  context.checkpoint('started');
  logStarted(context, flow, step);
  return { step: { ...step, state: 'running', startedAt: step.startedAt ?? now }, node };
}

function logStarted(context: EngineContext, flow: FlowRow, step: FlowStepRow): void {
  const name = stepTitle(step);
  context.log.info({ node: flow.nodeUuid, flow: flow.uuid, ...loggedIds(flow), step: name }, 'step started');
}

/**
 * Checks whether another flow may begin with this one's end: cleaning after the release of an instance, the wipe that is
 * owed after cleaning.
 */
export function mayBeFollowed(
  { config }: Pick<EngineContext, 'config'>,
  { flow, node }: { readonly flow: FlowRow; readonly node: NodeRow },
): boolean {
  if (flow.kind === 'clean' || (flow.wipe ?? node.owedWipe)) return true;
  return flowKinds[flow.kind].next !== undefined && (node.automatedClean ?? config.automatedClean);
}
