import { bootInstance } from '#conductor/flows/conductor-steps/boot-instance.ts';
import { switchToTenantNetwork } from '#conductor/flows/conductor-steps/switch-networks.ts';
import { stepsOf } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const bringBackInstance: ConductorStep = {
  interface: 'deploy',
  step: 'bring_back_instance',
  description: "After a service that was refused before its first step: back to the tenant's networks, and on again.",
  run: async (context) => {
    const off = (await stepsOf(context)).find(({ phase, step }) => phase === 'cleanup' && step === 'power_off');
    // a ramdisk that may still run must not see the tenant's network
    if (off?.state !== 'succeeded')
      throw new AppError('conflict', 'the instance is not started: the ramdisk could not be powered off');
    await switchToTenantNetwork.run(context);
    return bootInstance.run(context);
  },
};
