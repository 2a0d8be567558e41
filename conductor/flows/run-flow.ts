import { beginAnew, mayBeginAnew } from '#conductor/flows/begin-anew.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { abortFlow, endFinished, type FinishedWork, failStep, finishFlow } from '#conductor/flows/finish-flow.ts';
import { listSteps, prolongWaits, recordStepEvents, updateFlow } from '#conductor/flows/flow-store.ts';
import { leaveToOthers } from '#conductor/flows/leave-to-others.ts';
import { nextAction } from '#conductor/flows/next-action.ts';
import { changesNode } from '#conductor/flows/post-step-hooks.ts';
import { type FirstWork, readWork } from '#conductor/flows/read-work.ts';
import { recordOutcome } from '#conductor/flows/record-outcome.ts';
import { type ConductorStepOutcome, loadStepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { countFlow, countHop } from '#conductor/kernel/metrics/count-flow.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flow-states.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';
import { applyEvent } from '#conductor/nodes/apply-event.ts';
import { holdLease, type Lease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { AppError, errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

/** A passing fault (a BMC that is away for a moment) is tried again this often. */
const retryEveryMs = 5_000;

/**
 * Takes the node's open flow as far as it goes now: claim (the caller's lease) → act on the outside world without a
 * transaction → record. Returns when the flow waits or has ended, or needs a conductor of another release.
 * @throws AppError `lease_lost` when another conductor has taken over.
 */
export async function runFlow(
  context: EngineContext,
  lease: Lease,
  signal: AbortSignal,
  first?: FirstWork,
): Promise<'done' | 'released' | 'not known here'> {
  const ports = readOnce(() => listNodePorts(context.db, lease.nodeUuid));
  for (
    let current = first?.work ?? (await readWork(context.db, lease.nodeUuid)), known = first?.steps;
    current?.flow && !signal.aborted;
    current = await readWork(context.db, lease.nodeUuid), known = undefined
  ) {
    const { node, flow, session } = current;
    const steps = known ?? (await listSteps(context.db, flow.uuid));
    const hold = await holdInMaintenance(context, { lease, node, flow });
    if (flow.onHold !== null || hold === 'held') return 'done';
    if (hold === 'released') continue;
    if (!Object.hasOwn(flowKinds, flow.kind)) {
      if (await leaveToOthers(context, { lease, node, flow, unknown: `flow ${flow.kind}` })) return 'not known here';
      throw new AppError('not_supported', `this conductor's release knows no flow ${flow.kind}`);
    }
    const work = { context, lease, node, flow, session, ports, signal };
    const action = nextAction(flow, steps, context.clock.now());
    if (action.kind === 'finish') {
      await finishFlow(context, { lease, node, flow, steps });
      if (mayBeFollowed(flow)) continue;
      return 'done';
    }
    if (action.kind === 'give up') {
      const { step } = action;
      const error = new AppError('timeout', `gave up waiting for ${step.waitingFor ?? 'it'}`);
      await failStep(context, { lease, node, flow, step }, error);
      continue;
    }
    if (flow.abortRequested !== null && !isCleaningUp(flow.state) && mayStopAt(action, flow)) {
      await abortFlow(context, lease, flow);
      continue;
    }
    if (context.steps.find(action.step, flowKinds[flow.kind]) === undefined) {
      const unknown = `step ${stepTitle(action.step)}`;
      if (await leaveToOthers(context, { lease, node, flow, unknown })) return 'not known here';
    }
    const came = await actOnSteps(work, action, steps);
    if (came === 'waits' || came === 'released') return came === 'waits' ? 'done' : came;
  }
  return 'done';
}

/** By a flow that begins with its end: the release of an instance by cleaning, cleaning by the wipe that is owed. */
function mayBeFollowed({ kind }: FlowRow): boolean {
  return flowKinds[kind].next !== undefined || kind === 'clean';
}

/** Before a step begins; what looks at clusters stops between any two looks. */
function mayStopAt({ kind, step }: { readonly kind: string; readonly step: FlowStepRow }, flow: FlowRow): boolean {
  return (kind === 'run' && step.state === 'pending') || isBesideStates(flowKinds[flow.kind]);
}

/** The step, and after it those that follow, as long as each ends at once. */
async function actOnSteps(
  first: Work,
  action: { readonly kind: 'run' | 'resume'; readonly step: FlowStepRow },
  steps: readonly FlowStepRow[],
): Promise<'goes on' | 'waits' | 'released'> {
  let work = first;
  let { kind: mode, step }: { kind: 'run' | 'resume' | 'started'; step: FlowStepRow } = action;
  for (;;) {
    const next = nextAtOnce(work, steps, step, mode);
    const isLast =
      step.phase === 'main' && !steps.some((each) => each.phase === 'main' && each.position > step.position);
    const result = await actOnStep(work, mode, { step, next: isLast ? 'end' : next, steps });
    if (typeof result === 'string') return result;
    ({ mode, step } = { mode: 'started', step: result });
    if (step.inBand) continue;
    const fresh = await readWork(work.context.db, work.node.uuid);
    // what has come in between is looked at where all of it is: the log's `started` has the step run then
    if (
      fresh?.flow?.uuid !== work.flow.uuid ||
      fresh.node.maintenance ||
      work.signal.aborted ||
      fresh.flow.abortRequested !== null
    )
      return 'goes on';
    work = { ...work, node: fresh.node, flow: fresh.flow, session: fresh.session };
  }
}

/**
 * A step of the agent's that follows one of the agent's begins with the record of the other's success, and so does one of
 * the conductor's that follows one of its own: each commit waits for the disk. A step that was waited for has left the
 * node in its waiting state, which the start of the next ends.
 */
function nextAtOnce(
  { context, flow }: Work,
  steps: readonly FlowStepRow[],
  step: FlowStepRow,
  mode: 'run' | 'resume' | 'started',
): FlowStepRow | undefined {
  const next = steps[steps.findIndex((each) => each.uuid === step.uuid) + 1];
  const follows = next?.phase === 'main' && next.state === 'pending' && next.inBand === step.inBand;
  if (!follows || (!step.inBand && mode === 'resume')) return undefined;
  return context.steps.find(next, flowKinds[flow.kind]) ? next : undefined;
}

/** Verbs that are possible in maintenance. */
const askedFor: ReadonlySet<FlowRow['kind']> = new Set(['teardown', 'restore']);

function isHeld({ flow, node }: { readonly flow: FlowRow; readonly node: NodeRow }): boolean {
  return node.maintenance && !askedFor.has(flow.kind) && !isCleaningUp(flow.state);
}

/**
 * In maintenance a person may have their hands in the machine: nothing is done and no time runs out, but for what
 * makes a node safe (clean-up) and what the person has asked for (teardown, bringing an instance back).
 */
async function holdInMaintenance(
  context: EngineContext,
  { lease, node, flow }: { readonly lease: Lease; readonly node: NodeRow; readonly flow: FlowRow },
): Promise<'held' | 'released' | 'not held'> {
  const holds = isHeld({ flow, node });
  if (!holds && flow.held === null) return 'not held';
  const now = context.clock.now();
  await context.db.transaction(async (tx) => {
    await holdLease(tx, lease);
    const held = holds ? `node is in maintenance${node.maintenanceReason ? `: ${node.maintenanceReason}` : ''}` : null;
    if (holds) {
      const heldSince = flow.heldSince ?? now;
      await updateFlow(tx, flow.uuid, { held, heldSince, checkInMs: context.config.reconcileIntervalMs });
    } else {
      await prolongWaits(tx, flow.uuid, now.getTime() - (flow.heldSince ?? now).getTime());
      await updateFlow(tx, flow.uuid, { held, heldSince: null, checkInMs: 0 });
    }
  });
  return holds ? 'held' : 'released';
}

/** A node's ports don't change while a conductor works on it, and most steps need none. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  const memory: { answer?: Promise<T> } = {};
  return () => (memory.answer ??= read());
}

interface Work {
  readonly context: EngineContext;
  readonly lease: Lease;
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly session: AgentSessionRow | null;
  readonly ports: () => Promise<readonly PortRow[]>;
  readonly signal: AbortSignal;
}

/**
 * Runs or resumes one step and records what came of it; answers whether the flow goes on at once, or with the next step,
 * whose start is recorded already.
 */
async function actOnStep(
  work: Work,
  mode: 'run' | 'resume' | 'started',
  {
    step: row,
    next,
    steps,
  }: {
    readonly step: FlowStepRow;
    readonly next: FlowStepRow | 'end' | undefined;
    readonly steps: readonly FlowStepRow[];
  },
): Promise<'goes on' | 'waits' | 'released' | FlowStepRow> {
  const { context, lease, flow, signal } = work;
  const { step, node } = mode === 'run' ? await recordStart(work, row) : { step: row, node: work.node };
  let outcome: ConductorStepOutcome;
  const isRepeated = mode === 'run' && row.state !== 'pending';
  const stepContext = await loadStepContext({ ...work, node }, { step, isRepeated });
  try {
    const definition = context.steps.find(step, flowKinds[flow.kind]);
    if (!definition) {
      throw new AppError('not_supported', `this conductor's release knows no step ${step.interface}.${step.step}`);
    }
    outcome =
      mode === 'resume' && definition.resume ? await definition.resume(stepContext) : await definition.run(stepContext);
    context.checkpoint('acted');
  } catch (error) {
    // stopped or taken over: the log still says `started`, so whoever comes next runs the step again
    if (signal.aborted) throw signal.reason;
    // a database that is away for a moment is no fault of the step: the next period tries again
    if (errorCode(error) === 'lease_lost' || errorCode(error) === 'database_error') throw error;
    if (errorCode(error) === 'version_mismatch' && mayBeginAnew(flow)) {
      await beginAnew(context, { lease, node, flow, step }, error);
      return 'goes on';
    }
    if (!isRetryable(error)) {
      await failStep(context, { lease, node, flow, step }, error);
      return 'goes on';
    }
    outcome = {
      // what waits is asked again; only what was acting is run again
      kind: mode === 'resume' ? 'wait' : 'again',
      reason: `another try after: ${errorChain(error)}`,
      timeoutMs: context.config.retryTimeoutMs,
      // within a short time limit there is more than one try too
      checkEveryMs: Math.min(retryEveryMs, context.config.retryTimeoutMs / 4),
    };
  }
  try {
    // what a step asks for beyond its success decides anew what comes next
    const isPlain = outcome.kind === 'done' && !('plan' in outcome) && !changesNode({ flow, step });
    const goesOn = next && isPlain && flow.abortRequested === null;
    const record = { lease, node, flow, step };
    if (!goesOn) return (await recordOutcome(context, record, outcome)) === 'waits' ? 'waits' : 'goes on';
    if (next === 'end') {
      const end = (tx: Transaction, current: NodeRow) =>
        endWithStep(context, tx, { lease, flow, node: current, steps });
      const came = await recordOutcome(context, record, outcome, { end });
      if (came !== 'ended') return came;
      countFlow(context, flow);
      return mayBeFollowed(flow) ? 'goes on' : 'released';
    }
    const now = context.clock.now();
    await recordOutcome(context, record, outcome, { start: next });
    context.checkpoint('started');
    logStarted(context, flow, next);
    if (mode === 'resume') countHop(context, work.session);
    return { ...next, state: 'running', startedAt: now };
  } catch (error) {
    // what the agent answered is not what the step's hook needs
    if (errorCode(error) !== 'agent_error') throw error;
    await failStep(context, { lease, node, flow, step }, error);
    return 'goes on';
  }
}

/**
 * The flow's end, with that of its last step; what follows it is looked at where all of it is. Answers whether it has
 * ended: not while the node's maintenance holds it.
 */
async function endWithStep(context: EngineContext, tx: Transaction, work: FinishedWork): Promise<boolean> {
  if (isHeld(work)) return false;
  const released = mayBeFollowed(work.flow) ? Promise.resolve() : releaseLease(tx, work.lease);
  await together([endFinished(context, tx, work), released]);
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
      await together([holdLease(tx, lease), recordStepEvents(tx, [started])]);
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
  context.log.info({ node: flow.nodeUuid, flow: flow.uuid, step: name }, 'step started');
}
