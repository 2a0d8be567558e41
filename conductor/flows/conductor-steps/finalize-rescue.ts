import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const finalizeRescue: ConductorStep = {
  interface: 'deploy',
  step: 'finalize_rescue',
  description: 'Has the agent set the rescue password and stop serving; the ramdisk is the rescuer’s from then on.',
  run: async (context) => {
    const hash = context.node.instanceInfo['hashed_rescue_password'];
    if (typeof hash !== 'string') throw new AppError('invalid_argument', 'instance_info has no rescue password');
    const result = await context
      .agent()
      .post({ name: 'rescue.finalize_rescue', params: { rescue_password: hash, hashed: true } }, { wait: true });
    if (result.command_status !== 'SUCCEEDED') {
      throw new AppError('agent_error', `finish the rescue: ${result.command_error?.details ?? result.command_status}`);
    }
    return { kind: 'done' };
  },
};
