import { setPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { awaitRamdisk, rebootIntoRamdisk } from '#conductor/flows/conductor-steps/reboot-ramdisk.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import type { PowerTarget } from '#conductor/model/power-states.ts';

/** Steps that an operator may list between others: where the flow has a ramdisk, power comes back with it. */
async function hasRamdisk(context: StepContext): Promise<boolean> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  return steps.some((step) => step.step === 'boot_ramdisk');
}

const powerStep = (step: string, target: PowerTarget, description: string): ConductorStep => ({
  interface: 'power',
  step,
  description,
  run: async (context) => {
    if (await hasRamdisk(context)) return rebootIntoRamdisk(context);
    await setPower(context, target);
    return { kind: 'done' };
  },
  resume: awaitRamdisk,
});

export const powerOn = powerStep(
  'power_on',
  'power on',
  'On request: powers the machine on, into the ramdisk where the flow runs in one.',
);

export const reboot = powerStep(
  'reboot',
  'rebooting',
  'On request: reboots the machine, into the ramdisk where the flow runs in one.',
);
