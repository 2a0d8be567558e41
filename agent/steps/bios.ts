import { z } from 'zod';
import { applySettings } from '#agent/bios/apply-settings.ts';
import { resetFirmwareAttributes } from '#agent/bios/firmware-attributes.ts';
import { firmwareAttributesOf, settingSources } from '#agent/bios/setting-sources.ts';
import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { ApplyBiosArgs } from '#shared/in-band/step-args.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Firmware takes settings in seconds, each by itself. */
const writeSeconds = 600;

const applyBiosConfiguration = defineStep({
  interface: 'bios',
  step: 'apply_configuration',
  priorities: { deploy: 0, clean: 0, service: 0 },
  destroys: 'none',
  description:
    "Changes BIOS settings from the running ramdisk: by the kernel's firmware-attributes class and by EFI variables.",
  mustNotLosePower: writeSeconds,
  args: ApplyBiosArgs,
  run: async (context: AgentContext, args) => {
    const { rebootPending, ...output } = await applySettings(
      settingSources(context, args.admin_password),
      args.settings,
    );
    context.log.info({ changed: output.changed, rebootPending }, 'BIOS settings applied');
    return rebootPending
      ? { kind: 'reboot', reason: 'the firmware applies the BIOS settings at the next boot', output }
      : { kind: 'done', output };
  },
});

const factoryResetBios = defineStep({
  interface: 'bios',
  step: 'factory_reset',
  priorities: { deploy: 0, clean: 0, service: 0 },
  destroys: 'none',
  rebootRequested: true,
  mustNotLosePower: writeSeconds,
  description: "Resets all BIOS settings, where the kernel's firmware-attributes class offers that.",
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

export const biosSteps = [applyBiosConfiguration, factoryResetBios] as const;
