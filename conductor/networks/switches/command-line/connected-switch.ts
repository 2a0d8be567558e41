import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import type { Logins } from '#conductor/networks/switches/command-line/logins.ts';
import type { SwitchOs, SwitchRows, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';

export interface ConnectedSwitch {
  readonly os: SwitchOs;
  readonly rows: SwitchRows;
  readonly access: SwitchAccess;
  readonly logins: Logins;
  /** Commands that a restart of the switch would show to be missing; they are tried again before anything else. */
  unsaved: readonly string[];
  /** The state as it was read last. */
  latest: SwitchSnapshot | undefined;
  /** Settings that this connection has saved, by port. */
  readonly saved: Map<string, string>;
}
