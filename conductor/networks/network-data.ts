import { groupModeName } from '#conductor/model/switch-bond.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

/** Fields of a port group that count here. */
export interface BondedPorts {
  readonly uuid: string;
  readonly address: string | null;
  /** Linux's bonding mode, by name or number. */
  readonly mode: string;
  /** `miimon`, `xmit_hash_policy` … */
  readonly properties: Readonly<Record<string, unknown>>;
}

type Json = Record<string, unknown>;

/**
 * OpenStack's `network_data.json` for an instance whose switch ports are moved so: its port groups as bonds, tagged VLANs
 * on top, DHCP on what is untagged, and on tagged VLANs where nothing is untagged. `undefined` where every port is on the
 * same untagged VLAN: systems find their way by DHCP then. Pure.
 */
export function networkDataOf(moves: readonly SwitchPortMove[], groups: readonly BondedPorts[]): Json | undefined {
  const connected = moves.filter(({ network }) => network !== undefined);
  const phys = new Map(connected.map(({ port }, index) => [port.uuid, `port${index}`]));
  const idOf = ({ uuid }: NetworkPort): string => phys.get(uuid) ?? uuid;
  const bonds = groups.flatMap((group, index) => {
    const members = connected.filter(({ port }) => port.portgroupUuid === group.uuid);
    const [first, second] = members;
    if (!first || !second || new Set(members.map(({ network }) => network?.name)).size > 1) return [];
    return [{ group, members, id: `bond${index}`, address: group.address ?? first.port.address }];
  });
  const bonded = new Set(bonds.flatMap(({ members }) => members));
  const alone = connected.filter((move) => !bonded.has(move));
  const networks = new Set(moves.map(({ network }) => network));
  const isPlain = bonds.length === 0 && networks.size === 1 && connected.every((move) => tagged(move).length === 0);
  if (isPlain || connected.length === 0) return undefined;
  const plugs = [
    ...bonds.map(({ id, address, members }) => ({ id, address, move: members[0] })),
    ...alone.map((move) => ({ id: idOf(move.port), address: move.port.address, move })),
  ].flatMap(({ move, ...plug }) => (move ? [{ ...plug, move }] : []));
  return {
    links: [
      ...connected.map(({ port }) => ({ id: idOf(port), type: 'phy', ethernet_mac_address: port.address })),
      ...bonds.map(({ id, address, members, group }) => ({
        ...Object.fromEntries(Object.entries(group.properties).map(([key, value]) => [`bond_${key}`, value])),
        id,
        type: 'bond',
        ethernet_mac_address: address,
        bond_mode: groupModeName(group.mode),
        bond_links: members.map(({ port }) => idOf(port)),
      })),
      ...plugs.flatMap(({ id, address, move }) =>
        tagged(move).map((vlan) => ({
          id: `${id}.${vlan}`,
          type: 'vlan',
          vlan_link: id,
          vlan_id: vlan,
          vlan_mac_address: address,
        })),
      ),
    ],
    networks: plugs.flatMap(({ id, move }) => {
      const links = untagged(move) === undefined ? tagged(move).map((vlan) => `${id}.${vlan}`) : [id];
      return links.map((link) => ({ id: link, link, type: 'ipv4_dhcp', network_id: move.network?.name }));
    }),
    services: [],
  };
}

function tagged({ network }: SwitchPortMove): readonly number[] {
  return network?.vlans.tagged ?? [];
}

function untagged({ network }: SwitchPortMove): number | undefined {
  return network?.vlans.untagged;
}
