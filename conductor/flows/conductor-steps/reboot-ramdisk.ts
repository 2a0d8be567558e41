import { askForSteps, sameVersions } from '#conductor/agents/ask-agent.ts';
import { askAhead } from '#conductor/flows/bios/settings-ahead.ts';
import { hasCalledIn, powerIntoRamdisk, waitForAgent } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { bootFrom } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { AppError } from '#shared/errors/app-error.ts';

const comesBack = 'the ramdisk to come back after the reboot';

export function rebootIntoRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  return powerIntoRamdisk(context, comesBack);
}

export async function awaitRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  if (!hasCalledIn(context)) return waitForAgent(context, comesBack);
  await checkSameRamdisk(context);
  return (await isBootFromDiskSet(context)) ? bootFrom(context, 'disk') : { kind: 'done' };
}

/**
 * After a reboot amid the flow: the ramdisk must be the one that the plan was made with.
 * @throws AppError `version_mismatch`
 */
async function checkSameRamdisk(context: StepContext): Promise<void> {
  const { inBand } = flowKinds[context.flow.kind];
  const planned = context.flow.hardwareManagerVersion;
  if (!inBand || !planned) return;
  const about = { secrets: context.secrets, node: context.node, ports: await context.ports() };
  const { version } = await askForSteps(context.agent(), inBand.kind, about);
  if (sameVersions(planned, version)) return;
  throw new AppError(
    'version_mismatch',
    `the agent came back with other hardware managers: ${JSON.stringify(version)}, planned with ${JSON.stringify(planned)}`,
  );
}

/** That the instance boots from its disk had been set before the reboot, which took the boot device's place. */
async function isBootFromDiskSet(context: StepContext): Promise<boolean> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  return steps.some(({ step, state }) => step === 'prepare_instance_boot' && state === 'succeeded');
}

/** Follows a step whose definition says `reboot_requested`. */
export const rebootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'reboot_ramdisk',
  description: 'Reboots the machine into the ramdisk, as the step before it asks.',
  run: async (context) => {
    await askAhead(context);
    return rebootIntoRamdisk(context);
  },
  resume: awaitRamdisk,
};
