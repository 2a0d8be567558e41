import { setPower } from '#conductor/flows/conductor-steps/power-off.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

export const bootInstance: ConductorStep = {
  interface: 'deploy',
  step: 'boot_instance',
  description: 'Powers the machine on into its own operating system.',
  run: async (context) => {
    await setPower(context, 'power on');
    return { kind: 'done' };
  },
};
