import { isIPv4 } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import type { DhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import type { DhcpInterface } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { literalAddress } from '#shared/peers/address-ranges.ts';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/**
 * The interface on the provisioning network among this machine's (`os.networkInterfaces()`).
 * @throws AppError `invalid_argument` naming the setting and what would be right.
 */
export function findInterface(config: DhcpConfig, interfaces: Interfaces): DhcpInterface {
  const name = config.interface ?? interfaceOf(config.bootUrl, interfaces);
  const addresses = (interfaces[name] ?? []).filter(({ internal }) => !internal);
  if (addresses.length === 0) {
    throw wrong(`${name} is no interface of this machine with an address: it must be ${namesOf(interfaces)}`);
  }
  const ipv4 = addresses.find(({ address }) => isIPv4(address));
  const ipv6Address = addresses.find(
    ({ family, address }) => family === 'IPv6' && !/^fe[89ab]/i.test(address),
  )?.address;
  const givesIpv6 = config.ipv6Prefix !== undefined || config.ranges.some(({ first }) => !isIPv4(first));
  const givesIpv4 = config.mode === 'proxy' || config.ranges.some(({ first }) => isIPv4(first));
  if (givesIpv4 && ipv4 === undefined) throw wrong(`${name} has no IPv4 address: give it one`);
  if (givesIpv6 && ipv6Address === undefined) {
    throw wrong(`${name} has no IPv6 address beside its link-local one: give it one in the range or prefix`);
  }
  return { name, subnet: ipv4 && subnetOf(ipv4), ipv6Address };
}

function interfaceOf(bootUrl: string, interfaces: Interfaces): string {
  const { hostname } = new URL(bootUrl);
  const wanted = literalAddress(hostname) ?? hostname;
  const found = Object.entries(interfaces).find(([, addresses]) =>
    addresses?.some(({ address }) => address === wanted),
  );
  if (found) return found[0];
  throw wrong(`no interface of this machine has the address of ${bootUrl}: name the one, ${namesOf(interfaces)}`);
}

function namesOf(interfaces: Interfaces): string {
  const names = Object.entries(interfaces).flatMap(([name, addresses]) =>
    addresses?.some(({ internal }) => !internal) ? [name] : [],
  );
  return names.length === 0 ? 'but there is none' : names.join(' or ');
}

function subnetOf({ address, netmask }: NetworkInterfaceInfo): string {
  const mask = netmask.split('.').map(Number);
  return address
    .split('.')
    .map((byte, index) => Number(byte) & (mask[index] ?? 0))
    .join('.');
}

const wrong = (what: string): AppError => new AppError('invalid_argument', `BATON_DHCP_INTERFACE: ${what}`);
