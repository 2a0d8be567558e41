import { isIPv6 } from 'node:net';
import { groupModeName } from '#conductor/model/switch-bond.ts';
import { bondProperties, type NeutronGroup } from '#conductor/networks/neutron/binding.ts';
import type { NeutronNetwork, NeutronPort, NeutronSubnet } from '#conductor/networks/neutron/neutron-client.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';

/** A port of Neutron with what it is in. */
export interface KnownVif {
  readonly port: NeutronPort;
  readonly network: NeutronNetwork;
  /** Subnets of its addresses. */
  readonly subnets: readonly NeutronSubnet[];
}

/** The same at the node's port, or at several that form a group. */
interface PlacedVif extends KnownVif {
  readonly at: readonly NetworkPort[];
  readonly group: NeutronGroup | undefined;
  /** VLANs of a trunk. */
  readonly vlans: readonly (KnownVif & { readonly vlan: number })[];
}

type Json = Record<string, unknown>;

/**
 * OpenStack's `network_data.json` of an instance whose ports Neutron binds: port groups as bonds, a trunk's further ports as
 * VLANs, addresses by DHCP where the subnet has it. `undefined` where DHCP alone finds the way. Pure.
 */
export function neutronNetworkData(vifs: readonly PlacedVif[]): Json | undefined {
  const plugs = vifs.map((vif, index) => ({ ...vif, id: vif.group ? `bond${index}` : `port${index}` }));
  const all = plugs.flatMap(({ id, vlans, ...vif }) => [
    { ...vif, id },
    ...vlans.map((each) => ({ ...each, id: `${id}.${each.vlan}` })),
  ]);
  const networks = all.flatMap(({ id, network, port, subnets }) =>
    subnets.flatMap((subnet) =>
      addressesOf(port, subnet).map((address, index) => ({
        id: `${id}-${subnet.id}${index === 0 ? '' : `-${index}`}`,
        link: id,
        network_id: network.id,
        ...address,
      })),
    ),
  );
  const isPlain = all.length === 1 && !plugs[0]?.group && networks.every(({ type }) => type === 'ipv4_dhcp');
  if (isPlain || all.length === 0) return undefined;
  const servers = new Set(all.flatMap(({ subnets }) => subnets.flatMap((subnet) => subnet.dns_nameservers)));
  return {
    links: plugs.flatMap(({ id, at, group, network, port, vlans }) => [
      ...linksOf(id, at, group, network),
      ...vlans.map((each) => ({
        id: `${id}.${each.vlan}`,
        type: 'vlan',
        vlan_link: id,
        vlan_id: each.vlan,
        vlan_mac_address: each.port.mac_address || port.mac_address,
        ...mtuOf(each.network),
      })),
    ]),
    networks,
    services: [...servers].map((address) => ({ type: 'dns', address })),
  };
}

function linksOf(
  id: string,
  at: readonly NetworkPort[],
  group: NeutronGroup | undefined,
  network: NeutronNetwork,
): Json[] {
  const phys = at.map(({ address }, index) => ({
    id: group ? `${id}-${index}` : id,
    type: 'phy',
    ethernet_mac_address: address,
    ...mtuOf(network),
  }));
  if (!group) return phys;
  return [
    ...phys,
    {
      ...bondProperties(group.properties),
      id,
      type: 'bond',
      ethernet_mac_address: group.address ?? at[0]?.address,
      bond_mode: groupModeName(group.mode),
      bond_links: phys.map((link) => link.id),
      ...mtuOf(network),
    },
  ];
}

const mtuOf = ({ mtu }: NeutronNetwork): Json => (mtu ? { mtu } : {});

/** Without DHCP all that the port has in the subnet; the first brings the routes. */
function addressesOf(port: NeutronPort, subnet: NeutronSubnet): (Json & { readonly type: string })[] {
  const version = subnet.ip_version;
  if (subnet.enable_dhcp) return [{ type: version === 4 ? 'ipv4_dhcp' : `ipv6_${subnet.ipv6_address_mode ?? 'dhcp'}` }];
  const gateway = subnet.gateway_ip;
  const everywhere = version === 4 ? '0.0.0.0/0' : '::/0';
  const routes = [...(gateway ? [{ destination: everywhere, nexthop: gateway }] : []), ...subnet.host_routes].map(
    ({ destination, nexthop }) => {
      const [network = '', length = ''] = destination.split('/');
      return { network, netmask: maskOf(network, Number(length)), gateway: nexthop };
    },
  );
  const [network = '', length = ''] = subnet.cidr.split('/');
  const netmask = maskOf(network, Number(length));
  return port.fixed_ips
    .filter((each) => each.subnet_id === subnet.id)
    .map(({ ip_address }, index) => ({
      type: `ipv${version}`,
      ip_address,
      netmask,
      routes: index === 0 ? routes : [],
    }));
}

/** `255.255.254.0`, `ffff:ffff:ffff:ffff:0:0:0:0` */
function maskOf(address: string, length: number): string {
  const [parts, bits] = isIPv6(address) ? [8, 16] : [4, 8];
  const each = Array.from({ length: parts }, (_, index) => {
    const ones = Math.min(Math.max(length - index * bits, 0), bits);
    return (2 ** bits - 2 ** (bits - ones)).toString(bits === 16 ? 16 : 10);
  });
  return each.join(bits === 16 ? ':' : '.');
}
