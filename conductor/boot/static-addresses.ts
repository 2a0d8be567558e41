import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const Service = z.looseObject({ type: z.string(), address: z.string() });

/** What is read of OpenStack's `network_data.json`. */
const NetworkData = z.looseObject({
  links: z
    .array(z.looseObject({ id: z.string(), type: z.string().nullish(), ethernet_mac_address: z.string().nullish() }))
    .default([]),
  networks: z
    .array(
      z.looseObject({
        link: z.string(),
        type: z.string(),
        ip_address: z.string().nullish(),
        netmask: z.string().nullish(),
        gateway: z.string().nullish(),
        routes: z
          .array(z.looseObject({ network: z.string(), netmask: z.string().nullish(), gateway: z.string() }))
          .nullish(),
        services: z.array(Service).nullish(),
      }),
    )
    .default([]),
  services: z.array(Service).nullish(),
});

type Network = z.infer<typeof NetworkData>['networks'][number];

/**
 * The kernel parameters with which the ramdisk takes static addresses in place of DHCP's: for each network of the
 * node's `network_data` that has one, `baton.address=MAC,ADDRESS/PREFIX,GATEWAY,DNS,DNS…`; the gateway may be empty.
 * @throws AppError `invalid_argument` naming the field of `network_data` that is wrong, or that the ramdisk can't honour
 */
export function staticAddresses(networkData: Readonly<Record<string, unknown>>): readonly string[] {
  const parsed = NetworkData.safeParse(networkData);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw wrong(issue?.path.join('.') ?? '', issue?.message ?? 'is wrong');
  }
  const { links, networks, services } = parsed.data;
  return networks.flatMap((network, index) => {
    const place = `networks.${index}`;
    if (!['ipv4', 'ipv6'].includes(network.type)) return [];
    const link = links.find(({ id }) => id === network.link);
    if (!link) throw wrong(`${place}.link`, `is ${JSON.stringify(network.link)}, which is no link's id`);
    if (link.type === 'bond' || link.type === 'vlan') {
      throw wrong(`${place}.link`, `is a ${link.type}: the ramdisk takes addresses on network cards only`);
    }
    const mac = parseMacAddress(link.ethernet_mac_address ?? '');
    if (mac === undefined) throw wrong(`${place}.link`, `needs a link with ethernet_mac_address`);
    const servers = [...(network.services ?? []), ...(services ?? [])].filter(({ type }) => type === 'dns');
    const dns = [...new Set(servers.map(({ address }) => address))];
    const gateway = gatewayOf(network);
    for (const address of [...dns, ...(gateway === '' ? [] : [gateway])]) {
      if (!isIPv4(address) && !isIPv6(address))
        throw wrong(place, `has ${JSON.stringify(address)}, which is no address`);
    }
    return [`baton.address=${[mac, addressOf(network, place), gateway, ...dns].join(',')}`];
  });
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
