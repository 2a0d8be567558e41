import { cacheBiosSettings } from '#conductor/flows/bios/cache-bios-settings.ts';
import { ramdiskRuns } from '#conductor/flows/conductor-steps/fast-track.ts';
import { planWithAgent } from '#conductor/flows/conductor-steps/gather-steps.ts';
import { hasCalledIn, powerIntoRamdisk, waitForAgent } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';

const firstHeartbeat = 'first heartbeat of the ramdisk';

const bootsRamdisk = {
  run: async (context) => {
    await cacheBiosSettings(context);
    return (await ramdiskRuns(context)) ? planWithAgent(context) : powerIntoRamdisk(context, firstHeartbeat);
  },
  resume: async (context) => (hasCalledIn(context) ? planWithAgent(context) : waitForAgent(context, firstHeartbeat)),
} satisfies Partial<ConductorStep>;

export const deploy: ConductorStep = {
  interface: 'deploy',
  step: 'deploy',
  description: 'Boots the ramdisk on the provisioning network and asks its agent for its deploy steps.',
  ...bootsRamdisk,
};

export const bootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'boot_ramdisk',
  description: "Boots the ramdisk on its kind's network and asks its agent for its steps.",
  ...bootsRamdisk,
};
