import { powerIntoRamdisk } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

/** Follows a step whose definition says `reboot_requested`. */
export const rebootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'reboot_ramdisk',
  description: 'Reboots the machine into the ramdisk, as the step before it asks, and waits for its agent.',
  run: (context) => powerIntoRamdisk(context, context.flow.kind === 'deploy' ? 'provisioning' : 'cleaning'),
  resume: async (context) =>
    context.session?.lastHeartbeatAt
      ? { kind: 'done' }
      : {
          kind: 'wait',
          reason: 'the ramdisk to come back after the reboot',
          timeoutMs: context.config.callbackTimeoutMs,
          checkEveryMs: 30_000,
        },
};
