import { checkDeparture, goByKexec, parkedUntil } from '#conductor/flows/conductor-steps/kexec.ts';
import { switchPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';

export const bootInstance: ConductorStep = {
  interface: 'deploy',
  step: 'boot_instance',
  description: 'Powers the machine on into its own operating system, or presses its power button for kexec.',
  run: async (context) => {
    if (context.flow.kind === 'deploy' && context.node.osDisk !== null) await forgetEarlierDisk(context);
    if (await parkedUntil(context)) return goByKexec(context);
    return { kind: 'done', record: await switchPower(context, 'power on') };
  },
  resume: async (context) => {
    const until = await parkedUntil(context);
    if (until) return checkDeparture(context, until);
    return { kind: 'done', record: await switchPower(context, 'power on') };
  },
};

/** An instance that boots from a volume may have its data on the disk that an earlier one's image was written to. */
async function forgetEarlierDisk(context: StepContext): Promise<void> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  if (steps.some(({ step, state }) => step === 'write_image' && state === 'succeeded')) return;
  await context.record((tx) => updateNode(tx, context.node.uuid, { osDisk: null }));
}
