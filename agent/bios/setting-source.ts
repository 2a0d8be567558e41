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
