import type { EngineContext } from '#conductor/flows/context.ts';
import { actOnStep, mayBeFollowed } from '#conductor/flows/engine/act-on-step.ts';
import { abortFlow, failStep, finishFlow } from '#conductor/flows/engine/finish-flow.ts';
import { holdInMaintenance, leaveToOthers } from '#conductor/flows/engine/hold-flow.ts';
import { nextAction } from '#conductor/flows/engine/next-action.ts';
import type { Work } from '#conductor/flows/load-step-context.ts';
import { listSteps } from '#conductor/flows/log/flow-store.ts';
import { type FirstWork, readWork } from '#conductor/flows/log/read-work.ts';
import { currentFault } from '#conductor/flows/log/step-fault.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { Lease } from '#conductor/nodes/node-lease.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { AppError, inSituation } from '#shared/errors/app-error.ts';

/**
 * Takes the node's open flow as far as it goes now: claim (the caller's lease) → act on the outside world without a
 * transaction → record. Returns when the flow waits or has ended, or needs a conductor of another release.
 * @throws AppError `lease_lost` when another conductor has taken over.
 */
export async function runFlow(
  context: EngineContext,
  lease: Lease,
  { signal, calls }: Pick<Work, 'signal' | 'calls'>,
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
    const work = { context, lease, node, flow, session, ports, signal, calls, version: current.version };
    const action = nextAction(flow, steps, context.clock.now());
    if (action.kind === 'finish') {
      await finishFlow(context, { lease, node, flow, steps });
      if (mayBeFollowed(context, work)) continue;
      return 'done';
    }
    if (action.kind === 'give up') {
      const { step } = action;
      const fault = currentFault(step);
      const late = new AppError('timeout', `gave up waiting for ${step.waitingFor ?? `the end of ${stepTitle(step)}`}`);
      await failStep(context, { lease, node, flow, step }, fault ? inSituation(late, fault) : late);
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

/**
 * Checks whether the flow may stop here: before a step begins, or amid one that may be broken off; steps that look at
 * clusters stop between any two looks.
 */
function mayStopAt({ kind, step }: { readonly kind: string; readonly step: FlowStepRow }, flow: FlowRow): boolean {
  return (kind === 'run' && step.state === 'pending') || step.abortable || isBesideStates(flowKinds[flow.kind]);
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
    ({ mode, step } = { mode: 'started', step: result.step });
    if (step.inBand) continue;
    const fresh = result.version === work.version ? work : await readWork(work.context.db, work.node.uuid);
    // if anything changed meanwhile, the main loop reads all of it again; the log's `started` has it run this step then
    if (
      fresh?.flow?.uuid !== work.flow.uuid ||
      fresh.node.maintenance ||
      work.signal.aborted ||
      fresh.flow.abortRequested !== null
    )
      return 'goes on';
    const { node, flow, session, version } = fresh;
    work = { ...work, node, flow, session, version };
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

/** A node's ports don't change while a conductor works on it, and most steps need none. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  const memory: { answer?: Promise<T> } = {};
  return () => (memory.answer ??= read());
}
