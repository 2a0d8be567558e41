import { efiSettings } from '#agent/bios/efi-settings.ts';
import { efiVariables } from '#agent/bios/efi-variables.ts';
import { type FirmwareAttributesOptions, firmwareAttributes } from '#agent/bios/firmware-attributes.ts';
import type { SettingSource } from '#agent/bios/setting-source.ts';
import type { AgentContext } from '#agent/context.ts';

/** The folder of the kernel's view of the firmware. */
const sysRoot = '/sys';

export function firmwareAttributesOf(
  { log }: Pick<AgentContext, 'log'>,
  adminPassword: string | undefined,
): FirmwareAttributesOptions {
  return { root: `${sysRoot}/class/firmware-attributes`, log, adminPassword };
}

/** All ways into this machine's settings; a name belongs to the first that has it. */
export function settingSources(
  context: Pick<AgentContext, 'run' | 'log' | 'clock'>,
  adminPassword: string | undefined,
): readonly SettingSource[] {
  return [
    firmwareAttributes(firmwareAttributesOf(context, adminPassword)),
    efiSettings(efiVariables(`${sysRoot}/firmware/efi/efivars`, context.run), () => context.clock.now()),
  ];
}
