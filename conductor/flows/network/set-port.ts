import type { PortRow, SwitchPortRow } from '#conductor/kernel/db/schema/port.ts';

/** A port that Baton has set, and what it has set it to. */
export interface SetPort {
  readonly port: PortRow;
  readonly set: SwitchPortRow;
}
