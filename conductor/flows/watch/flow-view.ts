import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { whyNeeded } from '#conductor/flows/bmc/bios-left-resets.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { summarizeTeardown } from '#conductor/flows/engine/summarize-teardown.ts';
import { findLatestFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import { predictSeconds, typicalSeconds } from '#conductor/flows/log/step-durations.ts';
import { currentFault } from '#conductor/flows/log/step-fault.ts';
import { type AdviceFacts, type AdviceStep, adviceFor, knownFault } from '#conductor/flows/watch/advice.ts';
import { findPower, readAdviceFacts } from '#conductor/flows/watch/advice-facts.ts';
import { listAttempts } from '#conductor/flows/watch/list-attempts.ts';
import { whyUnattended } from '#conductor/kernel/conductors/node-conductor.ts';
import type { BootEventRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { isCleaningUp } from '#conductor/model/flows/flow-states.ts';
import { stepTitle, whyNotSkipped } from '#conductor/model/flows/planned-step.ts';
import { describeOutput } from '#conductor/model/flows/step-note.ts';
import { viewIds } from '#conductor/model/request-ids.ts';
import { stalledDownload } from '#conductor/model/stalled-download.ts';
import { listBootEvents } from '#conductor/nodes/boot/boot-event-store.ts';
import { wayToWipe } from '#conductor/nodes/requested-wipe.ts';
import { readOrigin } from '#shared/wire/progress.ts';

const startConductor =
  'Start a conductor with the BATON_CONDUCTOR_GROUP of the node, or change the conductor_group of the node.';

export async function latestFlow(
  context: Pick<EngineContext, 'db' | 'clock' | 'conductors'>,
  node: NodeRow,
): Promise<FlowView | undefined> {
  const { db } = context;
  const flow = await findLatestFlow(db, node.uuid);
  if (!flow) return undefined;
  const [steps, attempts, boot] = await Promise.all([
    listSteps(db, flow.uuid),
    listAttempts(db, flow.uuid),
    listBootEvents(db, node.uuid, { since: flow.startedAt, until: flow.endedAt }),
  ]);
  const { each: usual } = predictSeconds(steps, await typicalSeconds(db, steps));
  const unattended = flow.endedAt ? undefined : whyUnattended(context, node);
  const held = flow.held ?? unattended ?? null;
  return {
    uuid: flow.uuid,
    kind: flow.kind,
    state: flow.state,
    started_at: flow.startedAt.toISOString(),
    ended_at: flow.endedAt?.toISOString() ?? null,
    error: flow.error,
    held,
    on_hold: flow.onHold,
    abort_requested: flow.abortRequested,
    restarts: flow.restarts,
    ...viewIds(flow),
    advice: unattended === undefined ? await advise(context, node, { flow, steps, boot }) : startConductor,
    boot: boot.map(({ event, at, detail, bytes, conductor }) => ({
      event,
      at: at.toISOString(),
      detail,
      bytes,
      conductor,
    })),
    steps: steps.map((step, index) => ({
      ...viewStep({ flow, steps, step }, usual[index] ?? null),
      attempts: attempts.get(step.uuid) ?? [],
    })),
  };
}

async function advise(
  { db, clock }: Pick<EngineContext, 'db' | 'clock'>,
  node: NodeRow,
  {
    flow,
    steps,
    boot,
  }: { readonly flow: FlowRow; readonly steps: readonly FlowStepRow[]; readonly boot: readonly BootEventRow[] },
): Promise<string | null> {
  const at = stepAtWork(steps);
  const step = at && adviceStep(at, clock.now());
  const facts: AdviceFacts = {
    power: at && (await findPower(db, node.uuid, at)),
    node: node.name ?? node.uuid,
    provisionState: node.provisionState,
    inMaintenance: node.maintenance,
    kind: flow.kind,
    state: flow.state,
    held: flow.held,
    onHold: flow.onHold,
    abortRequested: flow.abortRequested,
    step,
    lastBoot: boot.findLast(({ at: seen }) => seen >= (at?.startedAt ?? seen)),
    owedWipe: node.owedWipe ? wayToWipe(node) : undefined,
    byHand: summarizeTeardown(node.name ?? node.uuid, [{ flow, steps }]).byHand,
    hasLogs: steps.some((each) => each.step === 'collect_logs' && hasCollected(each.output)),
  };
  const advice = adviceFor(facts);
  // a node that boots is looked at all the time: what costs more is read where there is something to advise
  if (advice === null || !step?.fault) return advice;
  return adviceFor({ ...facts, ...(await readAdviceFacts(db, node.uuid, step.fault)) });
}

/** Finds the main step that has failed, or is at work. */
function stepAtWork(steps: readonly FlowStepRow[]): FlowStepRow | undefined {
  const main = steps.filter((step) => step.phase === 'main');
  return main.find(({ state }) => state === 'failed' || state === 'running' || state === 'waiting');
}

function adviceStep(step: FlowStepRow, now: Date): AdviceStep {
  const startedAt = step.startedAt?.getTime() ?? now.getTime();
  const stalled = step.state === 'waiting' ? stalledDownload(step.progress) : undefined;
  const until = step.runAgain ? step.retryUntil : step.waitUntil;
  return {
    name: stepTitle(step),
    fault: stalled?.fault ?? currentFault(step) ?? (step.state === 'running' ? null : { code: 'unknown' }),
    waitedMs: now.getTime() - startedAt,
    limitMs: until ? until.getTime() - startedAt : undefined,
    isRetry: step.runAgain || stalled !== undefined || isSilent(step),
  };
}

/** Recognizes a node whose BMC has not answered for a while, or whose agent can't be reached. */
function isSilent(step: FlowStepRow): boolean {
  const code = currentFault(step)?.code;
  if (step.state === 'running') return code === 'bmc_silent';
  return step.state === 'waiting' && (code === 'agent_silent' || code === 'power_switched');
}

function hasCollected(output: unknown): boolean {
  return typeof output === 'object' && output !== null && Reflect.get(output, 'collected') === true;
}

function hasBroken({ state }: FlowRow): boolean {
  return isCleaningUp(state) || state === 'failed' || state === 'aborted';
}

function viewStep(
  { flow, steps, step }: { readonly flow: FlowRow; readonly steps: readonly FlowStepRow[]; readonly step: FlowStepRow },
  usualSeconds: number | null,
): Omit<FlowStepView, 'attempts'> {
  const fault = currentFault(step);
  return {
    uuid: step.uuid,
    position: step.position,
    phase: step.phase,
    interface: step.interface,
    step: step.step,
    priority: step.priority,
    origin: step.origin,
    plugin: step.plugin,
    reason: step.reason,
    in_band: step.inBand,
    state: step.state,
    started_at: step.startedAt?.toISOString() ?? null,
    ended_at: step.endedAt?.toISOString() ?? null,
    waiting_for: step.waitingFor,
    wait_until: step.waitUntil?.toISOString() ?? null,
    progress: step.progress,
    image_bytes: readOrigin(step.output) ?? null,
    note: describeOutput(step.output, hasBroken(flow)) ?? null,
    error: step.error,
    code: fault === null ? null : knownFault(fault).code,
    subject: fault?.subject ?? null,
    usual_seconds: usualSeconds,
    may_skip: (whyNotSkipped(step) ?? whyNeeded(steps, step)) === undefined,
  };
}
