import { checkSameRamdisk } from '#conductor/flows/conductor-steps/check-same-ramdisk.ts';
import { hasCalledIn, powerIntoRamdisk, waitForAgent } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { bootFrom } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';

const comesBack = 'the ramdisk to come back after the reboot';

export function rebootIntoRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  return powerIntoRamdisk(context, comesBack);
}

export async function awaitRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  if (!hasCalledIn(context)) return waitForAgent(context, comesBack);
  await checkSameRamdisk(context);
  await bootFromDiskAgain(context);
  return { kind: 'done' };
}

/** That the instance boots from its disk had been set before the reboot, which took the boot device's place. */
async function bootFromDiskAgain(context: StepContext): Promise<void> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  const isSet = (step: FlowStepRow): boolean => step.step === 'prepare_instance_boot' && step.state === 'succeeded';
  if (steps.some(isSet)) await bootFrom(context, 'disk');
}

/** Follows a step whose definition says `reboot_requested`. */
export const rebootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'reboot_ramdisk',
  description: 'Reboots the machine into the ramdisk, as the step before it asks, and waits for its agent.',
  run: rebootIntoRamdisk,
  resume: awaitRamdisk,
};
