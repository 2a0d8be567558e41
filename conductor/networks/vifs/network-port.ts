import type { NetworkPurpose } from '#conductor/model/network-purposes.ts';
import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import type { Vif, VifPort } from '#conductor/networks/vifs/place-vifs.ts';

/** Fields of a port that are read here. */
export interface NetworkPort extends VifPort {
  /** `{switch_id, port_id, switch_info?}`; `{}` when the operator gave none. */
  readonly localLinkConnection: Readonly<Record<string, unknown>>;
}

export type Destination =
  | 'isolated'
  /** The purpose's default network, unless tenant networks are attached. */
  | { readonly purpose: NetworkPurpose; readonly vifs?: readonly Vif[] }
  /** Port uuid → network name; `null` = isolated. Ports that are missing stay as they are. */
  | { readonly networks: ReadonlyMap<string, string | null>; readonly bonds?: ReadonlyMap<string, SwitchBond> };

/** Where a port was read back to be. */
export interface SwitchPortPlacement {
  readonly port: NetworkPort;
  /** A name of the networks file; null = isolated. */
  readonly network: string | null;
  /** The untagged one. */
  readonly vlan: number | null;
  readonly bond: SwitchBond | null;
}
