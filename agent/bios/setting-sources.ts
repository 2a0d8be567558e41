import { efiSettings } from '#agent/bios/efi-settings.ts';
import { efiVariables } from '#agent/bios/efi-variables.ts';
import { type FirmwareAttributesOptions, firmwareAttributes } from '#agent/bios/firmware-attributes.ts';
import type { AgentContext } from '#agent/context.ts';
import type { BiosSetting, WantedBiosSetting } from '#shared/bios/bios-setting.ts';

/** One way into the firmware's settings from the running system. */
export interface SettingSource {
  /** Everything that it has; empty where the machine has no such way. */
  read(): Promise<readonly BiosSetting[]>;
  /** Whether the setting, as read, is as wanted. */
  isAsWanted(setting: BiosSetting, wanted: string): boolean;
  /**
   * Refuses what can't be done, before anything is touched.
   * @throws AppError `invalid_argument`, `conflict`
   */
  check(settings: readonly BiosSetting[], wanted: readonly WantedBiosSetting[]): Promise<void>;
  /** Writes all of them. @throws AppError `command_failed` naming the setting and what was written before it. */
  write(wanted: readonly WantedBiosSetting[]): Promise<void>;
  /** The firmware takes what was written at the next reboot, not sooner. */
  isRebootPending(): Promise<boolean>;
}

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
