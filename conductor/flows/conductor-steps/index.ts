import { bootInstance } from '#conductor/flows/conductor-steps/boot-instance.ts';
import { bootRamdisk, deploy } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import { leaveNetwork } from '#conductor/flows/conductor-steps/leave-network.ts';
import { powerOff } from '#conductor/flows/conductor-steps/power-off.ts';
import { prepareInstanceBoot } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { rebootRamdisk } from '#conductor/flows/conductor-steps/reboot-ramdisk.ts';
import { releaseInstance } from '#conductor/flows/conductor-steps/release-instance.ts';
import { runAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { switchToTenantNetwork } from '#conductor/flows/conductor-steps/switch-to-tenant-network.ts';
import { tearDownAgent } from '#conductor/flows/conductor-steps/tear-down-agent.ts';
import { verifyPower } from '#conductor/flows/conductor-steps/verify-power.ts';
import { writeImage } from '#conductor/flows/conductor-steps/write-image.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Every step that the conductor knows how to run; a test compares the table with the folder. */
export const conductorSteps: readonly ConductorStep[] = [
  deploy,
  bootRamdisk,
  writeImage,
  prepareInstanceBoot,
  tearDownAgent,
  switchToTenantNetwork,
  bootInstance,
  rebootRamdisk,
  leaveNetwork,
  releaseInstance,
  powerOff,
  verifyPower,
];

/** What runs a flow's step: a row of the table, or the agent. */
export function conductorStep(step: {
  readonly interface: string;
  readonly step: string;
  readonly inBand: boolean;
}): Pick<ConductorStep, 'run' | 'resume'> {
  const known = conductorSteps.find((each) => each.interface === step.interface && each.step === step.step);
  if (known) return known;
  if (step.inBand) return runAgentStep;
  throw new AppError('internal', `no conductor step ${step.interface}.${step.step}`);
}
