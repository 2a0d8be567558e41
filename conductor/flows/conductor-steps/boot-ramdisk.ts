import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { dumpNode, dumpPorts } from '#conductor/agents/node-dump.ts';
import { connectNode } from '#conductor/flows/conductor-steps/leave-network.ts';
import { setPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { flowKinds, type InBandSteps } from '#conductor/flows/flow-kinds.ts';
import { planSteps } from '#conductor/flows/plan-steps.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { NetworkPurpose } from '#conductor/networks/networks-file.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type AdvertisedStep, AdvertisedSteps, HardwareManagerVersion } from '#shared/wire/step.ts';

const waitForHeartbeat = 'first heartbeat of the ramdisk';

/**
 * Powers the machine into the ramdisk. The order matters: off first, so that whatever runs on the machine never sees
 * the provisioning network, and so that the boot is a cold one.
 */
export async function powerIntoRamdisk(context: StepContext, purpose: NetworkPurpose): Promise<ConductorStepOutcome> {
  await setPower(context, 'power off');
  await connectNode(context, { purpose });
  await context.bmc().management.setBootDevice('pxe', {
    persistent: false,
    bootMode: bootModeOf(context.node),
    signal: context.signal,
  });
  // once more: a lookup of the ramdisk before may have been on its way, and would keep the next boot from its token
  await context.record((tx) => forgetAgentSession(tx, context.node.uuid));
  await setPower(context, 'power on');
  return waitFor(context);
}

function waitFor(context: StepContext): ConductorStepOutcome {
  return {
    kind: 'wait',
    reason: waitForHeartbeat,
    timeoutMs: context.config.callbackTimeoutMs,
    checkEveryMs: 30_000,
  };
}

/** The agent has called in since this step powered the machine on. */
function hasCalledIn(context: StepContext): boolean {
  return context.session?.lastHeartbeatAt !== undefined && context.session.lastHeartbeatAt !== null;
}

/** Asks the agent for its steps and plans the rest of the flow anew. */
async function gatherSteps(context: StepContext): Promise<ConductorStepOutcome> {
  const kind = flowKinds[context.flow.kind];
  const { advertised, version } = kind.inBand
    ? await askForSteps(context, kind.inBand)
    : { advertised: [], version: {} };
  const plan = planSteps(kind, { advertised, requested: context.flow.requestedSteps });
  return {
    kind: 'done',
    output: { agent_steps: advertised.map((step) => `${step.interface}.${step.step}`) },
    // this step, and what opened the flow before it, has run
    plan: plan.slice(kind.opening.length).filter((step) => !isThisStep(context, step)),
    hardwareManagerVersion: version,
  };
}

function isThisStep(context: StepContext, step: { readonly interface: string; readonly step: string }): boolean {
  return step.interface === context.step.interface && step.step === context.step.step;
}

async function askForSteps(
  context: StepContext,
  inBand: InBandSteps,
): Promise<{ advertised: AdvertisedStep[]; version: HardwareManagerVersion }> {
  const result = await context.agent().post(
    {
      name: inBand.getCommand,
      params: { node: dumpNode(context.node, null), ports: dumpPorts(context.ports) },
    },
    { wait: true },
  );
  if (result.command_status === 'FAILED' && isMissingExtension(result.command_error?.message)) {
    return { advertised: [], version: {} };
  }
  const answer = result.command_result as Record<string, unknown> | null;
  const steps = AdvertisedSteps.safeParse(answer?.[inBand.stepsKey]);
  const version = HardwareManagerVersion.safeParse(answer?.['hardware_manager_version']);
  if (!steps.success || !version.success) {
    const reason = result.command_error?.details ?? result.command_error?.message ?? 'its answer has another form';
    throw new AppError('agent_error', `ask the agent for its steps (${inBand.getCommand}): ${reason}`);
  }
  return { advertised: Object.values(steps.data).flat(), version: version.data };
}

/** An agent without the extension has no in-band steps; that is no error (DESIGN.md). */
function isMissingExtension(message: string | null | undefined): boolean {
  return /extension with id .* not found/i.test(message ?? '');
}

async function resume(context: StepContext): Promise<ConductorStepOutcome> {
  return hasCalledIn(context) ? gatherSteps(context) : waitFor(context);
}

export const deploy: ConductorStep = {
  interface: 'deploy',
  step: 'deploy',
  description: 'Boots the ramdisk on the provisioning network, waits for its agent and asks it for its deploy steps.',
  run: (context) => powerIntoRamdisk(context, 'provisioning'),
  resume,
};

export const bootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'boot_ramdisk',
  description: 'Boots the ramdisk on the cleaning network, waits for its agent and asks it for its clean steps.',
  run: (context) => powerIntoRamdisk(context, 'cleaning'),
  resume,
};
