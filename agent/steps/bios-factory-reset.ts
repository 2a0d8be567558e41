import { z } from 'zod';
import { resetFirmwareAttributes } from '#agent/bios/firmware-attributes.ts';
import { firmwareAttributesOf } from '#agent/bios/setting-sources.ts';
import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { defineStep } from '#shared/steps/define-step.ts';

export const factoryResetBios = defineStep({
  interface: 'bios',
  step: 'factory_reset',
  priorities: { deploy: 0, clean: 0, service: 0 },
  destroys: 'none',
  rebootRequested: true,
  description: "Puts all BIOS settings back to the maker's, where the kernel's firmware-attributes class offers that.",
  args: z.strictObject({
    admin_password: z.string().optional().describe("The firmware's administrator password, where it has one"),
  }),
  run: async (context: AgentContext, args) => {
    const drivers = await resetFirmwareAttributes(firmwareAttributesOf(context, args.admin_password));
    if (drivers.length === 0) {
      throw new AppError(
        'not_supported',
        'reset the BIOS settings: no firmware-attributes driver of this machine has a factory reset (reset_bios)',
      );
    }
    return { kind: 'reboot', reason: 'the firmware goes back to its factory settings at the next boot' };
  },
});
