import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const Service = z.looseObject({ type: z.string(), address: z.string() });
const text = z.string().nullish();

/** Fields that are read of OpenStack's `network_data.json`. */
const NetworkData = z.looseObject({
  links: z
    .array(
      z.looseObject({
        id: z.string(),
        type: text,
        ethernet_mac_address: text,
        bond_links: z.array(z.string()).nullish(),
        bond_mode: text,
        vlan_link: text,
        vlan_id: z.number().int().min(1).max(4094).nullish(),
        vlan_mac_address: text,
      }),
    )
    .default([]),
  networks: z
    .array(
      z.looseObject({
        link: z.string(),
        type: z.string(),
        ip_address: text,
        netmask: text,
        gateway: text,
        routes: z
          .array(z.looseObject({ network: z.string(), netmask: z.string().nullish(), gateway: z.string() }))
          .nullish(),
        services: z.array(Service).nullish(),
      }),
    )
    .default([]),
  services: z.array(Service).nullish(),
});
type NetworkData = z.infer<typeof NetworkData>;
type Network = NetworkData['networks'][number];

const bondModes = 'balance-rr active-backup balance-xor broadcast 802.3ad balance-tlb balance-alb'.split(' ');

/**
 * The kernel parameters with which the ramdisk takes static addresses in place of DHCP's. For each network of the node's
 * `network_data` that has one, `baton.address=LINK,ADDRESS/PREFIX,GATEWAY,DNS,DNS…`; the gateway may be empty, and LINK is a
 * card's MAC or a name that `baton.bond=NAME,MODE,MAC,MAC…` or `baton.vlan=NAME,MAC,ID,LINK` makes, whose MAC may be empty.
 * @throws AppError `invalid_argument` naming the field of `network_data` that is wrong, or that the ramdisk can't honour
 */
export function staticAddresses(networkData: Readonly<Record<string, unknown>>): readonly string[] {
  const parsed = NetworkData.safeParse(networkData);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(issue?.path.join('.') ?? '', issue?.message ?? 'is wrong');
  }
  const { networks, services } = parsed.data;
  const links = createLinks(parsed.data);
  const addresses = networks.flatMap((network, index) => {
    const place = `networks.${index}`;
    if (!['ipv4', 'ipv6'].includes(network.type)) return [];
    const link = links.nameOf(network.link, `${place}.link`);
    const servers = [...(network.services ?? []), ...(services ?? [])].filter(({ type }) => type === 'dns');
    const dns = [...new Set(servers.map(({ address }) => address))];
    const gateway = gatewayOf(network);
    for (const address of [...dns, ...(gateway === '' ? [] : [gateway])]) {
      if (!isIPv4(address) && !isIPv6(address))
        throw wrong(place, `has ${JSON.stringify(address)}, which is not an address`);
    }
    return [`baton.address=${[link, addressOf(network, place), gateway, ...dns].join(',')}`];
  });
  return [...links.made.values(), ...addresses];
}

/** How the ramdisk calls links; bonds and VLANs are made where something stands on them. */
function createLinks({ links }: NetworkData) {
  /** By id. */
  const names = new Map<string, string>();
  /** Parameters by name. */
  const made = new Map<string, string>();
  const make = (kind: 'bond' | 'vlan', ...parts: readonly (string | number)[]): string => {
    const name = `${kind}${[...made.keys()].filter((each) => each.startsWith(kind)).length}`;
    made.set(name, `baton.${kind}=${[name, ...parts].join(',')}`);
    return name;
  };
  const find = (id: string, place: string, kinds: readonly string[]): string => {
    const index = links.findIndex((link) => link.id === id);
    const link = links[index];
    if (!link) throw wrong(place, `is ${JSON.stringify(id)}, which is not a link's id`);
    const kind = link.type === 'bond' || link.type === 'vlan' ? link.type : 'card';
    if (!kinds.includes(kind)) throw wrong(place, `is a ${kind}: it must be a ${kinds.join(' or a ')}`);
    const known = names.get(id);
    if (known !== undefined) return known;
    const own = `links.${index}`;
    const name =
      kind === 'bond' ? bond(link, own) : kind === 'vlan' ? vlan(link, own) : macOf(link.ethernet_mac_address, place);
    names.set(id, name);
    return name;
  };
  const bond = ({ bond_links: ids, bond_mode: asked }: NetworkData['links'][number], own: string): string => {
    // as OpenStack's schema spells it
    const mode = asked === '802.1ad' ? '802.3ad' : (asked ?? 'active-backup');
    if (!bondModes.includes(mode)) throw wrong(`${own}.bond_mode`, `must be one of ${bondModes.join(', ')}`);
    if (!ids || ids.length === 0) throw wrong(`${own}.bond_links`, 'must name the cards of the bond');
    return make('bond', mode, ...ids.map((id, index) => find(id, `${own}.bond_links.${index}`, ['card'])));
  };
  const vlan = (link: NetworkData['links'][number], own: string): string => {
    const { vlan_id: id, vlan_link: below, vlan_mac_address: mac } = link;
    if (typeof id !== 'number') throw wrong(`${own}.vlan_id`, 'must be a number from 1 to 4094');
    if (!below) throw wrong(`${own}.vlan_link`, 'must name the link that the VLAN is on');
    const on = find(below, `${own}.vlan_link`, ['card', 'bond']);
    return make('vlan', mac ? macOf(mac, `${own}.vlan_mac_address`, 'must be a MAC address') : '', id, on);
  };
  return { made, nameOf: (id: string, place: string) => find(id, place, ['card', 'bond', 'vlan']) };
}

function macOf(text: string | null | undefined, place: string, or = 'needs a link with ethernet_mac_address'): string {
  const mac = parseMacAddress(text ?? '');
  if (mac === undefined) throw wrong(place, or);
  return mac;
}

function gatewayOf({ gateway, routes }: Network): string {
  const isDefault = (route: { readonly network: string }): boolean =>
    ['0.0.0.0', '::', '0.0.0.0/0', '::/0'].includes(route.network);
  return gateway ?? routes?.find(isDefault)?.gateway ?? '';
}

/** With its prefix, which stands behind the address or in `netmask`. */
function addressOf(network: Network, place: string): string {
  const [address = '', ownPrefix] = (network.ip_address ?? '').split('/');
  const is = network.type === 'ipv4' ? isIPv4 : isIPv6;
  if (!is(address)) throw wrong(`${place}.ip_address`, `must be an ${network.type} address`);
  const prefix = ownPrefix ?? prefixOf(network.netmask ?? '');
  if (prefix === undefined || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (network.type === 'ipv4' ? 32 : 128)) {
    throw wrong(`${place}.netmask`, 'must be a mask such as 255.255.255.0, or the length of a prefix');
  }
  return `${address}/${prefix}`;
}

function prefixOf(netmask: string): string | undefined {
  if (!isIPv4(netmask)) return netmask === '' ? undefined : netmask;
  const bits = netmask
    .split('.')
    .map((byte) => Number(byte).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits) ? String(bits.replace(/0+$/, '').length) : undefined;
}

function wrong(field: string, why: string): AppError {
  return new AppError('invalid_argument', `network_data.${field} ${why}`);
}
