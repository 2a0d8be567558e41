import type { FoundVlans, PortVlans } from '#conductor/model/port-vlans.ts';

/**
 * A switch driver answers for one switch and knows no database. It throws `AppError` (`switch_error`, `unavailable`,
 * `not_found` for an unknown port, `invalid_argument` for a bad endpoint).
 */

export interface SwitchPortState {
  readonly portId: string;
  readonly vlans: FoundVlans;
}

export interface SwitchPortSetting {
  readonly portId: string;
  readonly vlans: PortVlans;
}

export interface SwitchConnection {
  /** States of the named ports, in the same order. */
  readPorts(portIds: readonly string[], signal?: AbortSignal): Promise<SwitchPortState[]>;
  /** All of them in one transaction where the switch can, in this order where it can't; safe to repeat. */
  apply(settings: readonly SwitchPortSetting[], signal?: AbortSignal): Promise<void>;
  /** What `apply` would send, in the switch's own words. */
  describe(settings: readonly SwitchPortSetting[]): readonly string[];
  close(): Promise<void>;
}

/** How to log in to a switch. Secrets are read when they are used: a file that changes needs no restart. */
export interface SwitchLogin {
  readonly username: string;
  /** One of the two; a key is in OpenSSH's or PEM form, without a passphrase. */
  readonly password?: () => Promise<string>;
  readonly privateKey?: () => Promise<string>;
  /** Asked for by `enable`, where the login alone does not do. */
  readonly enablePassword?: () => Promise<string>;
  /** `SHA256:…` as `ssh-keygen -l` prints it; without it nothing but the key's fingerprint is asked. */
  readonly hostKey: string | undefined;
}

export interface SwitchAccess {
  /** In the driver's own form: `unix:/run/openvswitch/db.sock`, `tcp:127.0.0.1:6640`, `ssh:192.0.2.1`. */
  readonly endpoint: string;
  /** For drivers that log in. */
  readonly login?: SwitchLogin;
  /** Whether a VLAN that the switch lacks is created; otherwise it is an error. */
  readonly createVlans?: boolean;
}

/** What a switch says of one of its ports by LLDP. */
export interface LldpPort {
  readonly portId: string;
  readonly description?: string | undefined;
}

export interface SwitchDriver {
  readonly name: string;
  /** Whether it needs `login`. */
  readonly logsIn: boolean;
  /** The port's name in the driver's form; `undefined` when nothing that the switch says is one. Default: the id as it is. */
  readonly portIdOf?: (said: LldpPort) => string | undefined;
  /** Connects when it is first used. */
  connect(access: SwitchAccess): SwitchConnection;
}
