import type { PortRules } from '#conductor/networks/allowed-ports.ts';

/** A switch's own bonds (port-channels, LAGs): VLANs are set at the bond, never at its members. Pure. */

/** Name of the bond → its members, as ports name them. */
export type Bonds = Readonly<Record<string, readonly string[]>>;

export interface BondRules extends PortRules {
  readonly bonds?: Bonds | undefined;
}

/** The bond that has this port as a member. */
export function bondOf({ bonds = {} }: BondRules, portId: string): string | undefined {
  return Object.keys(bonds).find((name) => bonds[name]?.includes(portId));
}

/** A port of a node at the port or bond of a switch. */
export interface BondedPort {
  readonly port: { readonly address: string; readonly portgroupUuid: string | null };
  readonly switchEntry: BondRules & { readonly switchId: string };
  /** The bond, where it is at a member of one. */
  readonly portId: string;
}

const isBond = ({ switchEntry, portId }: BondedPort): boolean => switchEntry.bonds?.[portId] !== undefined;
const addresses = (targets: readonly BondedPort[]): string => targets.map(({ port }) => port.address).join(', ');

/**
 * Lists faults in how a node's ports and port groups fit the bonds of its switches: several ports of a bond are one
 * port group, and all of a group's are at bonds or none is; at one switch they share a bond, at two each switch has one
 * (MLAG).
 */
export function bondFaults(targets: readonly BondedPort[]): string[] {
  const atBonds = [...Map.groupBy(targets.filter(isBond), nameOf).values()];
  const groups = Map.groupBy(targets, ({ port }) => port.portgroupUuid);
  groups.delete(null);
  return [
    ...atBonds.filter(isTorn).map((atBond) => {
      const { portId } = atBond[0] as BondedPort;
      return `ports ${addresses(atBond)} are at bond ${portId} of one switch: put them into one port group, and no other port with them`;
    }),
    ...[...groups].flatMap(([group, members]) => {
      const [bonded, plain] = [members.filter(isBond), members.filter((each) => !isBond(each))];
      if (bonded.length === 0 || plain.length === 0) return [];
      return [
        `port group ${group}: ports ${addresses(bonded)} are at a bond of their switch, and ${addresses(plain)} are not: name ` +
          'them in bonds of the networks file, or take them out of the group',
      ];
    }),
    ...[...groups].flatMap(([group, members]) =>
      [...Map.groupBy(members.filter(isBond), ({ switchEntry }) => switchEntry.switchId).values()]
        .filter((atSwitch) => new Set(atSwitch.map(nameOf)).size > 1)
        .map(
          (atSwitch) =>
            `port group ${group}: ports ${addresses(atSwitch)} are at different bonds of one switch (${[...new Set(atSwitch.map(({ portId }) => portId))].join(', ')})`,
        ),
    ),
  ];
}

/** Members of the bonds at which these ports are. */
export function bondsAt(
  targets: readonly BondedPort[],
): { switchId: string; bond: string; members: readonly string[] }[] {
  const byName = new Map(targets.filter(isBond).map((target) => [nameOf(target), target]));
  return [...byName.values()].map(({ switchEntry, portId }) => ({
    switchId: switchEntry.switchId,
    bond: portId,
    members: switchEntry.bonds?.[portId] ?? [],
  }));
}

function nameOf({ switchEntry, portId }: BondedPort): string {
  return `${switchEntry.switchId} ${portId}`;
}

function isTorn(atBond: readonly BondedPort[]): boolean {
  const groups = new Set(atBond.map(({ port }) => port.portgroupUuid));
  return atBond.length > 1 && (groups.size > 1 || groups.has(null));
}
