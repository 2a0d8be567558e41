import type { FoundVlans, PortVlans } from '#conductor/model/port-vlans.ts';
import type { BondMode, FoundBond, SwitchBond } from '#conductor/model/switch-bond.ts';
import type { DownAmidChange, LldpPort, SwitchTransport } from '#conductor/networks/switch-driver.ts';
import type { OpenCommandLine } from '#conductor/networks/switches/command-line/command-line.ts';

export interface SwitchSnapshot {
  /** Made by `knownPorts`, so that what is not known is `other`. */
  readonly ports: ReadonlyMap<string, FoundVlans>;
  /** Lines of ports that are not known: these ports have `other` VLANs. */
  readonly unread?: ReadonlyMap<string, readonly string[]>;
  /** Ports that can't be set: why, and what is to be done about it. */
  readonly fixed?: ReadonlyMap<string, string>;
  /** Why no trunk can have an untagged VLAN, and what is to be done about it. */
  readonly untaggedRefused?: string;
  /** VLANs that ports with `other` settings carry, where that is known. */
  readonly carried?: ReadonlyMap<string, readonly number[]>;
  /** Ports, of these, that go down, for `hold`. One that was left down has `other` VLANs. */
  readonly goDown?: ReadonlyMap<string, DownAmidChange>;
  /** The VLANs that exist; `undefined` where a VLAN needs no making, `unknown` where the switch's answer was not understood. */
  readonly vlans: ReadonlySet<number> | 'unknown' | undefined;
  /** In place of the system's own, where what the switch says of itself decides. */
  readonly rows?: ChangeRows;
  /** Where bonds are asked for. */
  readonly members?: ReadonlyMap<string, Membership>;
}

/** How ports are set. */
export type ChangeRows = Pick<SwitchRows, 'isolate' | 'hold' | 'access' | 'trunk' | 'bonds'>;

/**
 * A change that the switch takes up as a whole, and takes back by itself when nobody confirms it: the confirmation comes
 * over another login, so that a change that cuts the conductor off undoes itself.
 */
export interface SwitchTransaction {
  /** @param name of this change: `baton-` and 8 hex digits */
  readonly open: (name: string) => readonly string[];
  /** Commands that show what it would change, in the switch's words; the last before `commit`. */
  readonly diff: (name: string) => readonly string[];
  /** Takes it up for a minute or two. */
  readonly commit: (name: string) => readonly string[];
  readonly confirm: (name: string) => readonly string[];
  /** After a refusal, before `commit`. */
  readonly abort: (name: string) => readonly string[];
  /** Finds changes that a conductor left behind: unfinished ones hold locks, and unconfirmed ones pass for done. */
  readonly leftBehind: {
    readonly command: string;
    /** A switch that refuses it has nothing left behind. */
    readonly mayBeRefused?: true;
    readonly find: (output: string) => readonly string[];
    /** Takes one back; without it, the switch does so by itself. */
    readonly discard?: (name: string) => readonly string[];
  };
}

/** How VLANs that Baton has created, and nobody has added anything to, are distinguished from others, and removed. */
export interface VlanRemoval {
  /** Asked only where VLANs are removed. */
  readonly commands: readonly string[];
  readonly findOwn: (outputs: readonly string[]) => Iterable<number>;
  /** Whether a VLAN can't go while an uplink is a member of it. */
  readonly uplinksKeep?: true;
  /** It has no ports. */
  readonly lines: (vlan: number) => readonly string[];
}

/** How ports are down while they would be in a VLAN that nobody has asked for. */
export interface HoldRows {
  /** When that is: while they are isolated, or while they join VLANs. */
  readonly amid: 'isolation' | 'join';
  /** With a note that they are to be up again. */
  readonly down: (portIds: readonly string[], description: string) => readonly string[];
  readonly up: (portIds: readonly string[], description: string) => readonly string[];
}

/** A bond that Baton makes, by the name of its interface. */
export interface NamedBond extends SwitchBond {
  readonly name: string;
}

/** A member's bond, Baton's or not. */
export type Membership = Pick<FoundBond, 'mode' | 'acrossPair'> & { readonly name: string };

/** How bonds are made, by commands that may be repeated. */
export interface BondRows {
  /** `Port-Channel101` */
  readonly name: (number: number) => string;
  readonly modes: readonly BondMode[];
  readonly pairs: readonly BondMode[];
  /** Asked beside those of `read`. */
  readonly commands?: readonly string[];
  /** Members of bonds, from the answers to `read` and to `commands`. */
  readonly members: (outputs: readonly string[]) => ReadonlyMap<string, Membership>;
  /** Makes its interface, in no VLAN. */
  readonly make: (bond: NamedBond) => readonly string[];
  /** The ports are isolated. */
  readonly join: (portIds: readonly string[], bond: NamedBond) => readonly string[];
  /** @param staying in it */
  readonly leave: (portIds: readonly string[], bondName: string, staying: readonly string[]) => readonly string[];
  /** It has no members any more. */
  readonly remove: (bondName: string) => readonly string[];
}

/** A switch's operating system as the commands that Baton gives it. */
export interface SwitchOs extends SwitchRows {
  /** The driver's name in the networks file. */
  readonly name: string;
  /** How its commands get there, by the scheme of the switch's endpoint. */
  readonly transports: Readonly<Partial<Record<SwitchTransport, OpenCommandLine>>>;
  /** Pattern of a `port_id`: others never get into a command. */
  readonly portId: RegExp;
  /** A port's name in LLDP → its `port_id`, where they differ. */
  readonly portName?: (name: string) => string;
  /** Translates LLDP's data of a port → its `port_id`, where `portId` and `portName` don't say it all. */
  readonly portIdOf?: (said: LldpPort) => string | undefined;
  /** Asked where LLDP's name of a port can't be told from what LLDP says. */
  readonly lldpNames?: {
    readonly commands: readonly string[];
    /** Name in LLDP → `port_id`. */
    readonly parse: (outputs: readonly string[]) => ReadonlyMap<string, string>;
  };
  /** Matches the system descriptions of those that send another chassis id at each port. */
  readonly chassisIdPerPort?: RegExp;
  /** Matches the system descriptions of those whose port ids in LLDP are aliases. */
  readonly aliasesInLldp?: RegExp;
  /** Rows in place of these, for a transport that takes other words than the command line. */
  readonly rowsOver?: Readonly<Partial<Record<SwitchTransport, SwitchRows>>>;
}

/**
 * All commands may be repeated: each says the whole state of its ports, for most systems keep an access port's settings
 * while it is a trunk, and the other way round.
 */
export interface SwitchRows {
  /** One round of commands for all ports. */
  readonly read: {
    readonly commands: readonly string[];
    readonly parse: (outputs: readonly string[]) => SwitchSnapshot;
  };
  /** Ports may be many; all get the same. */
  readonly isolate: (portIds: readonly string[]) => readonly string[];
  readonly hold?: HoldRows;
  readonly access: (portIds: readonly string[], vlan: number) => readonly string[];
  /** With tagged VLANs, and perhaps an untagged one. */
  readonly trunk: (portIds: readonly string[], vlans: PortVlans) => readonly string[];
  /** Whether a trunk can't do without an untagged VLAN. */
  readonly trunkNeedsUntagged?: true;
  readonly bonds?: BondRows;
  readonly createVlan?: (vlan: number) => readonly string[];
  readonly removeVlan?: VlanRemoval;
  /** Around the commands of a change that is not a transaction: `configure terminal`, `end`. */
  readonly begin?: readonly string[];
  readonly end?: readonly string[];
  /** Lines of `isolate`, `access`, `trunk` and `bonds` as fewer commands, which may be of several lines each. */
  readonly joined?: (lines: readonly string[]) => readonly string[];
  readonly transaction?: SwitchTransaction;
  /**
   * Has the change outlast the switch's restart.
   * @param lines of the change, for a switch that keeps nothing by itself
   */
  readonly save: (portIds: readonly string[], lines: readonly string[]) => readonly string[];
}
