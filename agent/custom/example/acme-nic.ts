import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import { type HardwareManager, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { listPhysicalInterfaces } from '#agent/machine/network-interfaces.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Turns off pause frames on every NIC; an example of a step in TypeScript. */
const disablePauseFrames = defineStep({
  interface: 'management',
  step: 'disable_pause_frames',
  priorities: { clean: 0, service: 0 },
  destroys: 'none',
  description: 'turns off Ethernet pause frames on all NICs that have them',
  args: z.strictObject({}),
  run: async (context: AgentContext) => {
    const done: string[] = [];
    for (const { name } of await listPhysicalInterfaces()) {
      context.reportProgress({ phase: `pause frames of ${name}` });
      // 76: the driver has no pause frames; 78: they are off already
      const { exitCode } = await context.run('ethtool', ['--pause', name, 'autoneg', 'off', 'rx', 'off', 'tx', 'off'], {
        okExitCodes: [0, 76, 78],
      });
      if (exitCode === 0) done.push(name);
    }
    return { kind: 'done', output: { changed: done } };
  },
});

/** For all machines with NICs, as it is an example; a real one looks at DMI or PCI ids and says `none` elsewhere. */
export const hardwareManager: HardwareManager = {
  className: 'AcmeNicHardwareManager',
  name: 'acme_nic',
  version: '1',
  evaluateSupport: () => Promise.resolve(hardwareSupport.mainline),
  steps: [disablePauseFrames],
};
