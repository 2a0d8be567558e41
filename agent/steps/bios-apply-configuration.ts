import { z } from 'zod';
import { applySettings } from '#agent/bios/apply-settings.ts';
import { settingSources } from '#agent/bios/setting-sources.ts';
import type { AgentContext } from '#agent/context.ts';
import { BiosSettingsArgument } from '#shared/bios/bios-setting.ts';
import { defineStep } from '#shared/steps/define-step.ts';

export const applyBiosConfiguration = defineStep({
  interface: 'bios',
  step: 'apply_configuration',
  priorities: { deploy: 0, clean: 0, service: 0 },
  destroys: 'none',
  description:
    "Changes BIOS settings from the running ramdisk: by the kernel's firmware-attributes class and by EFI variables.",
  args: z.strictObject({
    settings: BiosSettingsArgument,
    admin_password: z.string().optional().describe("The firmware's administrator password, where it has one"),
  }),
  run: async (context: AgentContext, args) => {
    const { rebootPending, ...output } = await applySettings(
      settingSources(context, args.admin_password),
      args.settings,
    );
    context.log.info({ changed: output.changed, rebootPending }, 'BIOS settings applied');
    return rebootPending
      ? { kind: 'reboot', reason: 'the firmware takes the BIOS settings at the next boot', output }
      : { kind: 'done', output };
  },
});
