import { checkSameRamdisk } from '#conductor/flows/conductor-steps/check-same-ramdisk.ts';
import { hasCalledIn, powerIntoRamdisk, waitForAgent } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';

const comesBack = 'the ramdisk to come back after the reboot';

export function rebootIntoRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  return powerIntoRamdisk(context, comesBack);
}

export async function awaitRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  if (!hasCalledIn(context)) return waitForAgent(context, comesBack);
  await checkSameRamdisk(context);
  return { kind: 'done' };
}

/** Follows a step whose definition says `reboot_requested`. */
export const rebootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'reboot_ramdisk',
  description: 'Reboots the machine into the ramdisk, as the step before it asks, and waits for its agent.',
  run: rebootIntoRamdisk,
  resume: awaitRamdisk,
};
