import { askAhead } from '#conductor/flows/bios/settings-ahead.ts';
import { hasCalledIn } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { setPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { awaitRamdisk, rebootIntoRamdisk } from '#conductor/flows/conductor-steps/reboot-ramdisk.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';

/** What driver's steps share whose changes take effect at a reset. */

/**
 * A cold start: into the ramdisk where the flow has one running, whose agent is then awaited, else as the machine boots
 * by itself (before the ramdisk, or without).
 */
export async function resetMachine(
  context: StepContext,
  resume: (context: StepContext) => Promise<ConductorStepOutcome>,
): Promise<ConductorStepOutcome> {
  if (context.step.interface !== 'bios') await askAhead(context);
  if (await ramdiskIsUp(context)) return rebootIntoRamdisk(context);
  await setPower(context, 'rebooting');
  return resume(context);
}

/** `done` once the ramdisk is back, where the flow has one running. */
export async function awaitReset(context: StepContext): Promise<ConductorStepOutcome> {
  if (!(await ramdiskIsUp(context))) return { kind: 'done' };
  return hasCalledIn(context) ? awaitRamdisk(context) : awaitOrBoot(context);
}

/** The session is gone: the machine was reset and is on its way, unless the conductor died before it switched it on. */
async function awaitOrBoot(context: StepContext): Promise<ConductorStepOutcome> {
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  return power === 'power off' ? rebootIntoRamdisk(context) : awaitRamdisk(context);
}

/** Whether this flow has its ramdisk running: booted, and not yet torn down. */
export async function ramdiskIsUp(context: StepContext): Promise<boolean> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  const last = steps.findLast(
    ({ interface: stepInterface, step, state }) =>
      stepInterface === 'deploy' &&
      ['deploy', 'boot_ramdisk', 'reboot_ramdisk', 'tear_down_agent'].includes(step) &&
      state === 'succeeded',
  );
  return last !== undefined && last.step !== 'tear_down_agent';
}
