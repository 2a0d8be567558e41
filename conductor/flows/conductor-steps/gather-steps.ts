import { type AgentOffer, askForInventory, askForSteps, saveAgentSteps } from '#conductor/agents/ask-agent.ts';
import { startWatchingCables } from '#conductor/flows/conductor-steps/watch-cables.ts';
import { markRefusals } from '#conductor/flows/log/changed-nothing.ts';
import { stepsOf } from '#conductor/flows/log/flow-store.ts';
import { findPlannedImage, registryPatience } from '#conductor/flows/plan/find-planned-image.ts';
import { readPlan, requireSamePlan } from '#conductor/flows/plan/read-plan.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isEnded } from '#conductor/model/flows/flow-states.ts';
import { type PlanFacts, type PlannedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import { refreshInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { type StepKind, stepKinds } from '#shared/wire/step.ts';

/** Asks the agent for its steps and plans the rest of the flow again. */
export async function planWithAgent(context: StepContext): Promise<ConductorStepOutcome> {
  const { node, flow } = context;
  const kind = flowKinds[flow.kind];
  const others = othersOf(flow);
  for (const each of others) if (each !== kind.inBand?.kind) await rememberOthers(context, each);
  // what was read is compared with the disks that are there now
  // and what is to be wiped must be known
  if (flow.planHash !== null || flow.kind === 'wipe') await readInventory(context);
  // an inspection has a step of its own for it
  else if (others.length > 1 && flow.kind !== 'inspect') await rememberInventory(context);
  await startWatchingCables(context);
  if (!kind.inBand) return { kind: 'done' };
  const { advertised, version, lacksExtension } = await rememberSteps(context, kind.inBand.kind);
  const asked = { kind: flow.kind, requested: flow.requestedSteps, wipe: flow.wipe ?? undefined };
  // nothing of it has begun
  const plan = await markRefusals({ isRepeated: false }, async () => {
    const { signal } = context;
    const image = await findPlannedImage(context, node, flow.kind, { patienceMs: registryPatience.deploy, signal });
    const request = { ...asked, pinnedImage: image?.pinned };
    const read = await context.ask(readPlan(context, node, request, advertised));
    await requireSamePlan(read, flow.planHash, { disksAreNew: true });
    if (lacksExtension) requireStepsSet(read.steps, read.facts.priorities);
    return read;
  });
  return {
    kind: 'done',
    output: {
      agent_steps: advertised.map(stepKey),
      ...(lacksExtension ? { agent_lacks_extension: kind.inBand.kind } : {}),
    },
    plan: await stillToRun(context, plan.steps),
    hardwareManagerVersion: version,
  };
}

/**
 * Holds the operator's priorities against the steps there are: one set above 0 is asked for by name, and an erasure that
 * was asked for and can't be is no cleaning.
 * @throws AppError `not_supported` naming the steps
 */
function requireStepsSet(steps: readonly PlannedStep[], priorities: PlanFacts['priorities']): void {
  const planned = new Set(steps.map(stepKey));
  const asked = [...(priorities ?? [])].filter(([, priority]) => priority > 0).map(([key]) => key);
  const missing = asked.filter((key) => !planned.has(key));
  if (missing.length === 0) return;
  throw new AppError(
    'not_supported',
    `nothing was erased: BATON_CLEAN_STEP_PRIORITIES asks for ${missing.join(', ')}, and the agent has no extension clean: ` +
      'give the node a newer ramdisk, or one built with it',
  );
}

/**
 * Kinds of steps that are remembered besides: who cleans or inspects has time to learn what the next deploy's plan will be
 * made from, and a service of the instance that is deployed is planned while that runs.
 */
function othersOf({ kind }: Pick<StepContext['flow'], 'kind'>): readonly StepKind[] {
  if (kind === 'deploy') return ['service'];
  return ['clean', 'inspect', 'manual_clean', 'wipe'].includes(kind) ? stepKinds : [];
}

/**
 * Remembers lists of steps of the other kinds. This flow does not need them: a list that can't be had stays as it was known.
 */
async function rememberOthers(context: StepContext, kind: StepKind): Promise<void> {
  const offer = await askForSteps(context, kind).catch((error: unknown) => {
    if (context.signal.aborted) throw error;
    context.log.warn({ err: error }, `the agent's ${kind} steps are not known`);
  });
  if (offer) await keepSteps(context, kind, offer);
}

async function rememberSteps(context: StepContext, kind: StepKind): Promise<AgentOffer> {
  const offer = await askForSteps(context, kind);
  if (offer.lacksExtension) context.log.warn(`the agent has no extension ${kind}, so no ${kind} steps`);
  await keepSteps(context, kind, offer);
  return offer;
}

async function keepSteps(context: StepContext, kind: StepKind, offer: AgentOffer): Promise<void> {
  await context.record((tx) =>
    saveAgentSteps(tx, {
      nodeUuid: context.node.uuid,
      kind,
      steps: offer.advertised,
      hardwareManagerVersion: offer.version,
    }),
  );
}

/** Remembers what is on the disks before they are cleaned; a machine that can't list them is cleaned all the same. */
async function rememberInventory(context: StepContext): Promise<void> {
  try {
    await readInventory(context);
  } catch (error) {
    if (errorCode(error) !== 'agent_error') throw error;
    context.log.warn({ err: error }, 'inventory not refreshed');
  }
}

async function readInventory(context: StepContext): Promise<void> {
  const inventory = await askForInventory(context.agent());
  await context.record((tx) => refreshInventory(tx, { nodeUuid: context.node.uuid, inventory }));
}

/**
 * Lists the steps that are still to run: without this one, those that opened the flow before it, and those that ran before
 * the ramdisk booted.
 */
async function stillToRun(context: StepContext, plan: readonly PlannedStep[]): Promise<PlannedStep[]> {
  const { opening } = flowKinds[context.flow.kind];
  if (opening.length > 0) return plan.slice(opening.length);
  const steps = await stepsOf(context);
  const through = new Set(steps.filter((step) => isEnded(step.state)).map(stepKey));
  through.add(stepKey(context.step));
  // none of the plugins' tasks stands before the boot, whatever the step that it is has done there
  return plan.filter((step) => step.plugin !== undefined || !through.has(stepKey(step)));
}

export const gatherSteps: ConductorStep = {
  interface: 'deploy',
  step: 'gather_steps',
  description: 'Asks the agent for its steps and plans again, since the ramdisk changed during a cleaning.',
  run: planWithAgent,
};
