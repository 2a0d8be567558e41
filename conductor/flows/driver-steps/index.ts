import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { biosApplyConfiguration, biosFactoryReset } from '#conductor/flows/driver-steps/bios.ts';
import { firmwareUpdate } from '#conductor/flows/driver-steps/firmware.ts';
import { firmwareBootSteps, managementSteps } from '#conductor/flows/driver-steps/management.ts';
import { raidSteps } from '#conductor/flows/driver-steps/raid.ts';
import type { DriverStep } from '#conductor/flows/step-context.ts';
import type { StepKind } from '#shared/wire/step.ts';

/** THE table of out-of-band steps; a test compares it with the folder. */
export const driverSteps: readonly DriverStep[] = [
  biosApplyConfiguration,
  biosFactoryReset,
  firmwareUpdate,
  ...managementSteps,
  ...firmwareBootSteps,
  ...raidSteps,
];

/** Lists the steps that this node's BMC offers in flows of that kind. */
export function offeredSteps(bmc: Bmc, kind: StepKind): DriverStep[] {
  return driverSteps.filter((step) => step.priorities[kind] !== undefined && step.isOffered(bmc));
}
