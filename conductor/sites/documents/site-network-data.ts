import { BlockList, isIP, isIPv6 } from 'node:net';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { DrydockDocuments, DrydockLink, DrydockNetwork } from '#conductor/sites/documents/drydock-documents.ts';
import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';
import type { Report } from '#conductor/sites/documents/report-fault.ts';
import { type Wire, wiresOf } from '#conductor/sites/documents/site-ports.ts';

/**
 * OpenStack's `network_data.json` of a node whose `addressing` names documents `drydock/Network/v1`: its interfaces with
 * bonds and VLANs as their `drydock/NetworkLink/v1` have them, its addresses, routes, and the name servers of its primary
 * network. `undefined` where the documents say nothing of that kind. Pure.
 */
export function siteNetworkData(design: NodeDesign, site: DrydockDocuments, report: Report): JsonObject | undefined {
  const addresses = new Map(
    (design.addressing ?? [])
      .filter(({ network }) => network !== design.oob?.network && site.networks.has(network))
      .map(({ network, address }) => [network, address]),
  );
  if (addresses.size === 0) return undefined;
  const all = wiresOf(design).filter(({ networks, macs }) => networks.length > 0 && macs.length > 0);
  const bonded = new Set(all.flatMap(({ macs }) => (macs.length > 1 ? macs.map(({ mac }) => mac) : [])));
  // a cable of a bond was on its own for the ramdisk only
  const wires = all.filter(({ macs: [first, second] }) => second || !bonded.has(first?.mac ?? ''));
  const carried = new Set(wires.flatMap(({ networks }) => networks));
  for (const network of addresses.keys()) {
    if (!carried.has(network)) {
      const message = `has ${network}, which none of the node's interfaces is on: their networks, and a mac of each, say so`;
      report(['data', 'addressing'], message, 'NotHonoured', 'Warning');
    }
  }
  const cables = new Map(wires.flatMap(({ macs }) => macs.map((each) => [each.mac, each.name])));
  const servers = site.networks.get(design.primary_network ?? '')?.dns?.servers?.split(/[\s,]+/) ?? [];
  const primary = design.primary_network ?? undefined;
  return {
    links: [
      ...[...cables].map(([mac, name]) => ({ id: idOfCable(name), type: 'phy', ethernet_mac_address: mac })),
      ...wires.flatMap((wire) => linksOf(wire, site)),
    ],
    networks: wires.flatMap((wire) =>
      wire.networks.flatMap((name) => {
        const address = addresses.get(name);
        const network = site.networks.get(name);
        if (address === undefined || !network) return [];
        const link = linkOf(wire, name, site);
        const common = { id: name, network_id: name, link };
        if (address === 'dhcp') return [{ ...common, type: 'ipv4_dhcp' }];
        const wrong = whyNoAddress(address, network);
        if (wrong !== undefined) {
          report(['data', 'addressing'], `gives ${address} in ${name}, ${wrong}`, 'InvalidValue');
          return [];
        }
        const routes = routesOf(name, { site, isPrimary: primary === undefined || primary === name });
        return [
          {
            ...common,
            type: isIPv6(address) ? 'ipv6' : 'ipv4',
            ip_address: address,
            netmask: maskOf(network.cidr ?? ''),
            routes,
          },
        ];
      }),
    ),
    services: servers.filter((server) => server !== '').map((address) => ({ type: 'dns', address })),
  };
}

const bondModes = { '802.3ad': '802.3ad', 'active-backup': 'active-backup', 'balanced-rr': 'balance-rr' } as const;

/** A cable that is alone has the interface's name in cloud-init's eyes. */
const idOfCable = (name: string): string => `cable-${name}`;

/** Names the base of a wire: a bond's own id, a cable's for a cable. */
function baseOf({ name, macs }: Wire): string {
  const [first] = macs;
  return macs.length > 1 || !first ? name : idOfCable(first.name);
}

function vlanOf(wire: Wire, network: string, { links, networks }: DrydockDocuments): number | undefined {
  const { trunking } = links.get(wire.link ?? '') ?? {};
  const isTagged = trunking?.mode === '802.1q' && trunking.default_network !== network;
  return isTagged ? (networks.get(network)?.vlan ?? undefined) : undefined;
}

function linkOf(wire: Wire, network: string, site: DrydockDocuments): string {
  const vlan = vlanOf(wire, network, site);
  return vlan === undefined ? baseOf(wire) : `${baseOf(wire)}.${vlan}`;
}

function linksOf(wire: Wire, site: DrydockDocuments): JsonObject[] {
  const [first] = wire.macs;
  const link = site.links.get(wire.link ?? '');
  const bond = wire.macs.length > 1 ? [bondOf(wire, link)] : [];
  const vlans = wire.networks.flatMap((name) => {
    const vlan = vlanOf(wire, name, site);
    if (vlan === undefined) return [];
    const given = site.networks.get(name)?.mtu ?? link?.mtu;
    return [
      {
        id: linkOf(wire, name, site),
        type: 'vlan',
        vlan_link: baseOf(wire),
        vlan_id: vlan,
        vlan_mac_address: first?.mac,
        ...(given ? { mtu: given } : {}),
      },
    ];
  });
  return [...bond, ...vlans];
}

function bondOf({ name, macs }: Wire, link: DrydockLink | undefined): JsonObject {
  const { mode = '802.3ad', hash, peer_rate: rate, mon_rate: miimon } = link?.bonding ?? {};
  const { up_delay: up, down_delay: down } = link?.bonding ?? {};
  return {
    id: name,
    type: 'bond',
    ethernet_mac_address: macs[0]?.mac,
    // several cables without bonding: one of them is enough to be reached
    bond_mode: mode === 'disabled' ? 'active-backup' : bondModes[mode],
    bond_miimon: miimon ?? 100,
    bond_updelay: up ?? 200,
    bond_downdelay: down ?? 200,
    ...(mode === '802.3ad' ? { bond_xmit_hash_policy: hash ?? 'layer3+4', bond_lacp_rate: rate ?? 'fast' } : {}),
    bond_links: macs.map((each) => idOfCable(each.name)),
    ...(link?.mtu ? { mtu: link.mtu } : {}),
  };
}

/** The way out is the primary network's alone; a route to a domain leads to each of its other networks. */
function routesOf(
  name: string,
  { site, isPrimary }: { readonly site: DrydockDocuments; readonly isPrimary: boolean },
): JsonObject[] {
  return (site.networks.get(name)?.routes ?? []).flatMap(({ subnet, gateway, routedomain }) => {
    const domain = [...site.networks].filter(
      ([other, network]) => other !== name && routedomain && network.routedomain === routedomain,
    );
    const subnets = subnet ? [subnet] : domain.flatMap(([, { cidr }]) => cidr ?? []);
    return subnets
      .filter((each) => isPrimary || !each.endsWith('/0'))
      .map((each) => ({ network: each.split('/')[0], netmask: maskOf(each), gateway }));
  });
}

function whyNoAddress(address: string, { cidr }: DrydockNetwork): string | undefined {
  if (!cidr) return 'which has no cidr';
  if (isIP(address) === 0) return 'which is neither an IP address nor dhcp';
  const [network = '', bits = ''] = cidr.split('/');
  const familyOf = (given: string) => (isIPv6(given) ? 'ipv6' : 'ipv4');
  const within = new BlockList();
  within.addSubnet(network, Number(bits), familyOf(network));
  return within.check(address, familyOf(address)) ? undefined : `whose cidr is ${cidr}: it must be in it, or dhcp`;
}

/** `255.255.255.0` of `…/24`, and the like of IPv6. */
function maskOf(cidr: string): string {
  const [network = '', bits = '0'] = cidr.split('/');
  const [groups, width] = isIPv6(network) ? [8, 16] : [4, 8];
  const parts = Array.from({ length: groups }, (_, index) => {
    const ones = Math.min(Math.max(Number(bits) - index * width, 0), width);
    return 2 ** width - 2 ** (width - ones);
  });
  return groups === 8 ? parts.map((part) => part.toString(16)).join(':') : parts.join('.');
}
