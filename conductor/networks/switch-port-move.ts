import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import type { Network, SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

export interface SwitchPortTarget {
  readonly port: NetworkPort;
  readonly switchEntry: SwitchEntry;
  /** The port that is set: the bond, where the port is at a member of one. */
  readonly portId: string;
}

export interface SwitchPortMove extends SwitchPortTarget {
  /** `undefined` = isolated. */
  readonly network: Network | undefined;
  /** The bond that it is to be a member of. */
  readonly bond?: SwitchBond | undefined;
}
