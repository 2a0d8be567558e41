import { describeVlans, type FoundVlans, type PortVlans, sameVlans } from '#conductor/model/port-vlans.ts';
import {
  type BondMode,
  type BondReading,
  describeBond,
  type FoundBond,
  isBond,
  type SwitchBond,
  sameBond,
} from '#conductor/model/switch-bond.ts';

/** The transport, as an endpoint begins: `ssh:192.0.2.1`. */
export type SwitchTransport = 'ssh' | 'https' | 'netconf';

/**
 * A switch driver answers for one switch and knows no database. It throws `AppError` (`switch_error`, `unavailable`,
 * `not_found` for an unknown port, `invalid_argument` for a bad endpoint).
 */

export interface SwitchPortState {
  readonly portId: string;
  /** VLANs of the port, or of its bond where it is in one. */
  readonly vlans: FoundVlans;
  /**
   * One of `SwitchAccess.bondNumbers`; absent: it was read that it is in none; `unknown`: it is in another bond, or that was
   * not read. Its VLANs are `other` then.
   */
  readonly bond?: FoundBond | 'unknown' | undefined;
  /** A change takes it down, so that it passes through no VLAN; and up again. */
  readonly goesDown?: DownAmidChange | undefined;
}

export interface DownAmidChange {
  readonly description: string;
  /** A change that was lost has left it down. */
  readonly isDown: boolean;
}

/** All that is to be so of a port. Settings name a bond with all of its members, or none of them. */
export interface SwitchPortSetting {
  readonly portId: string;
  readonly vlans: PortVlans;
  readonly bond?: SwitchBond | undefined;
}

/** The bond of a port among these, `unknown` for a port that is not. */
export function bondAt(states: ReadonlyMap<string, Pick<SwitchPortState, 'bond'>>, portId: string): BondReading {
  const state = states.get(portId);
  return state === undefined ? 'unknown' : (state.bond ?? 'none');
}

export function isSet(found: SwitchPortState | undefined, { vlans, bond }: SwitchPortSetting): boolean {
  return sameVlans(found?.vlans, vlans) && sameBond(found?.bond, bond);
}

/** `VLAN 100`, `VLAN 100 in bond 101 (LACP)`. */
export function describePort({ vlans, bond }: Pick<SwitchPortState, 'vlans' | 'bond'>): string {
  return `${describeVlans(vlans)}${isBond(bond) ? ` in ${describeBond(bond)}` : ''}`;
}

export interface SwitchConnection {
  /** States of the named ports, in the same order. */
  readPorts(portIds: readonly string[], signal?: AbortSignal): Promise<SwitchPortState[]>;
  /** All of them in one transaction where the switch can, in this order where it can't; safe to repeat. */
  apply(settings: readonly SwitchPortSetting[], signal?: AbortSignal): Promise<void>;
  /**
   * Has settings of ports that are so already outlast a restart of the switch, unless this connection has done so. A
   * conductor that was lost may have set them and saved nothing. Without it a switch saves by itself.
   */
  save?(settings: readonly SwitchPortSetting[], signal?: AbortSignal): Promise<void>;
  /**
   * Describes what `apply` would send, in the switch's own words.
   * @param found the ports as they were read
   */
  describe(settings: readonly SwitchPortSetting[], found: readonly SwitchPortState[]): readonly string[];
  /** Reads the names of ports in LLDP → their port ids: for switches that send names which can't be translated. */
  readPortNames?(signal?: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Records the switch's output, and the driver's reading of it; changes nothing. */
  record?(signal?: AbortSignal): Promise<SwitchRecording>;
  close(): Promise<void>;
}

export type RecordedVlans = 'other' | 'isolated' | number | { readonly native?: number; readonly tagged: string };

/** A recording as `test/recorded` has it. */
export interface SwitchRecording {
  /** By command. */
  readonly outputs: Readonly<Record<string, string>>;
  /** `null` = the driver can't read it. */
  readonly reading: {
    readonly ports: Readonly<Record<string, RecordedVlans>>;
    readonly bonds?: Readonly<
      Record<string, { readonly mode: string; readonly pair: boolean; readonly members: readonly string[] }>
    >;
    readonly vlans?: string;
  } | null;
  /** Questions that were refused, or whose answers can't be read. */
  readonly faults: readonly string[];
}

/** How to log in to a switch. Secrets are read when they are used: a file that changes needs no restart. */
export interface SwitchLogin {
  readonly username: string;
  /** One of the three; a key is in OpenSSH's or PEM form, without a passphrase. */
  readonly password?: () => Promise<string>;
  /** With a user in place of `username`. */
  readonly credential?: () => Promise<SwitchCredential>;
  readonly privateKey?: () => Promise<string>;
  /** Asked for by `enable`, where the login alone does not do. */
  readonly enablePassword?: () => Promise<string>;
  /** `SHA256:…` as `ssh-keygen -l` prints it; without it nothing but the key's fingerprint is asked. */
  readonly hostKey: string | undefined;
  /** Over HTTPS: SHA-256 of the switch's certificate in hexadecimal; or the authorities that may have signed it, PEM. */
  readonly certificate?: string | undefined;
  readonly certificateAuthority?: () => Promise<string>;
}

export interface SwitchCredential {
  readonly username: string;
  readonly password: string;
}

/** Reads who logs in, as it is said now. */
export async function readAccount(login: SwitchLogin): Promise<Partial<SwitchCredential> & { username: string }> {
  if (login.credential) return login.credential();
  return { username: login.username, ...(login.password ? { password: await login.password() } : {}) };
}

export interface SwitchAccess {
  /** In the driver's own form: `unix:/run/openvswitch/db.sock`, `tcp:127.0.0.1:6640`, `ssh:192.0.2.1`. */
  readonly endpoint: string;
  /** For drivers that log in. */
  readonly login?: SwitchLogin;
  /** Whether a VLAN that the switch lacks is created; otherwise it is an error. */
  readonly createVlans?: boolean;
  /** Whether one that Baton has created goes when no port is in it any more. */
  readonly removeVlans?: boolean;
  /** Called for those that the switch refuses to remove, as far as they are known. */
  readonly onVlansKept?: ((vlans: readonly number[], error: unknown) => void) | undefined;
  /** Patterns of ports whose VLANs do not count for that. */
  readonly uplinks?: readonly string[];
  /** The bonds that are Baton's to make and to remove; without it none is. */
  readonly bondNumbers?: NumberRange;
}

/** Both included. */
export interface NumberRange {
  readonly from: number;
  readonly to: number;
}

/** The bonds that a driver can make. */
export interface BondAbilities {
  readonly modes: readonly BondMode[];
  /** Modes, of these, of bonds that two switches can share (MLAG). */
  readonly pairs: readonly BondMode[];
  /** Default: whichever it has. */
  readonly transports?: readonly SwitchTransport[];
}

/** LLDP data that a switch sends about one of its ports. */
export interface LldpPort {
  readonly portId: string;
  readonly description?: string | undefined;
}

export interface SwitchDriver {
  readonly name: string;
  /** How it logs in, by the scheme of the endpoint; without any it needs no `login`. */
  readonly transports?: readonly SwitchTransport[];
  /** Without it the driver makes no bonds, and settings have none. */
  readonly bonds?: BondAbilities | undefined;
  /** How it logs in where it can remove VLANs. */
  readonly removesVlans?: readonly SwitchTransport[];
  /** The port's name in the driver's form; `undefined` when nothing that the switch says is one. Default: the id as it is. */
  readonly portIdOf?: (said: LldpPort) => string | undefined;
  /** Matches the system descriptions of switches whose chassis id in LLDP is another at each port. */
  readonly chassisIdPerPort?: RegExp | undefined;
  /** Matches the system descriptions of switches whose port ids in LLDP are aliases, which may look like other ports' names. */
  readonly aliasesInLldp?: RegExp | undefined;
  /** Connects when it is first used. */
  connect(access: SwitchAccess): SwitchConnection;
}
