import { isIPv4, isIPv6 } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';
import { isLoopbackHost, literalAddress } from '#shared/peers/address-ranges.ts';

/** The interface of this machine on the provisioning network. */
export interface DhcpInterface {
  readonly name: string;
  /** IPv4, in dotted decimal; `undefined` on a network of IPv6 alone. */
  readonly subnet: string | undefined;
  /** Its global or unique local IPv6 address. */
  readonly ipv6Address: string | undefined;
}

/** Settings of the DHCP server that the conductor runs; part of its environment (`environment.ts`). */
export const dhcpEnvironment = {
  BATON_DHCP: z
    .enum(['off', 'proxy', 'server'], { error: 'must be off, proxy or server' })
    .default('off')
    .describe(
      'run dnsmasq on the provisioning network, on one conductor: `server` gives out addresses and boot files, `proxy` only boot files, beside another DHCP server',
    ),
  BATON_DHCP_INTERFACE: z
    .string()
    // linux/if.h IFNAMSIZ; dnsmasq reads * as a wildcard
    .regex(/^[A-Za-z0-9._-]{1,15}$/, 'must be the name of a network interface, such as eth1')
    .optional()
    .describe('interface on the provisioning network; default that with the address in `BATON_BOOT_URL`'),
  BATON_DHCP_RANGES: z
    .string()
    .default('')
    .describe(
      'addresses to give out, with commas between: `10.1.0.100-10.1.0.200`, with `/24` behind a relay, ' +
        '`fd00:1::100-fd00:1::1ff` for DHCPv6; required with `server`, unless known machines alone get addresses',
    ),
  BATON_DHCP_KNOWN_RANGES: z
    .string()
    .default('')
    .describe('further IPv4 addresses, for machines alone whose MAC address is that of a port'),
  BATON_DHCP_LEASE: z.coerce.number().int().min(120).default(3600).describe('seconds for which an address is given'),
  BATON_DHCP_HOSTS: z
    .string()
    .default('')
    .describe('fixed addresses, with commas between: `52:54:00:12:34:56=10.1.0.50`'),
  BATON_DHCP_ROUTER: z.ipv4({ error: 'must be an IPv4 address' }).optional().describe('router; default none'),
  BATON_DHCP_NAME_SERVERS: z.string().default('').describe('IPv4 addresses of name servers, with commas between'),
  BATON_DHCP_IPV6_PREFIX: z
    .string()
    .regex(/^f[cd][0-9a-f:]*::$/i, 'must be a prefix such as fd00:1::')
    .refine((text) => isIPv6(text), 'must be a prefix such as fd00:1::')
    .optional()
    .describe(
      'unique local prefix (/64) to advertise, in which the interface has an address: old iPXE waits 16 s where there is no router advertisement',
    ),
  BATON_IPXE_DIR: z
    .string()
    .regex(/^\/[\x21-\x7e]*$/, 'must be an absolute path without blanks')
    .default('/usr/lib/ipxe')
    .describe("directory of `undionly.kpxe`, `snponly.efi` and, for arm64, `ipxe-arm64.efi`; Debian's package ipxe"),
} as const;
type DhcpEnvironment = z.infer<z.ZodObject<typeof dhcpEnvironment>>;

export interface AddressRange {
  readonly first: string;
  readonly last: string;
  /** `undefined`: that of the interface. */
  readonly prefixLength: number | undefined;
}

export interface DhcpConfig {
  readonly mode: 'proxy' | 'server';
  /** `undefined`: the one that has the address in `bootUrl`. */
  readonly interface: string | undefined;
  /** IPv4 and IPv6. */
  readonly ranges: readonly AddressRange[];
  /** IPv4, for machines that are ports of nodes. */
  readonly knownRanges: readonly AddressRange[];
  readonly leaseSeconds: number;
  /** Lower-case MAC addresses with colons. */
  readonly hosts: readonly { readonly mac: string; readonly address: string }[];
  readonly router: string | undefined;
  readonly nameServers: readonly string[];
  /** `fd00:1::` */
  readonly ipv6Prefix: string | undefined;
  readonly tftpDirectory: string;
  /** Where machines that boot reach the conductor. */
  readonly bootUrl: string;
  /** Holds the leases, and who is known. */
  readonly directory: string;
}

/** @returns what is wrong with the settings together, one line each. */
export function dhcpProblems(env: DhcpEnvironment, bootUrl: string): string[] {
  if (env.BATON_DHCP === 'off') return [];
  const { hostname } = new URL(bootUrl);
  const given = (['RANGES', 'KNOWN_RANGES', 'HOSTS', 'ROUTER', 'NAME_SERVERS', 'IPV6_PREFIX'] as const)
    .map((name) => `BATON_DHCP_${name}` as const)
    .filter((name) => (env[name] ?? '') !== '');
  const ranges = listOf(env.BATON_DHCP_RANGES);
  const knownRanges = listOf(env.BATON_DHCP_KNOWN_RANGES);
  return [
    ...(isLoopbackHost(literalAddress(hostname) ?? hostname)
      ? [`BATON_BOOT_URL: with BATON_DHCP=${env.BATON_DHCP} machines are sent to ${bootUrl}, which they can't reach`]
      : []),
    // it stands in dnsmasq's configuration
    ...(/^[\x21-\x7e]+$/.test(bootUrl) && !/[,?#]/.test(bootUrl)
      ? []
      : [`BATON_BOOT_URL: with BATON_DHCP=${env.BATON_DHCP} it must be without comma and query, not '${bootUrl}'`]),
    ...(env.BATON_DHCP === 'proxy'
      ? given.map((name) => `${name}: with BATON_DHCP=proxy the other DHCP server gives out addresses: leave it out`)
      : []),
    ...(env.BATON_DHCP === 'server' && ranges.length + knownRanges.length === 0
      ? ['BATON_DHCP_RANGES: with BATON_DHCP=server it must be given: addresses such as 10.1.0.100-10.1.0.200']
      : []),
    ...ranges
      .filter((text) => parseRange(text) === undefined)
      .map((text) => `BATON_DHCP_RANGES: must be like 10.1.0.100-10.1.0.200 or fd00:1::100-fd00:1::1ff, not '${text}'`),
    ...knownRanges
      .filter((text) => !isIPv4(parseRange(text)?.first ?? ''))
      .map((text) => `BATON_DHCP_KNOWN_RANGES: must be IPv4 addresses like 10.1.0.100-10.1.0.200, not '${text}'`),
    ...listOf(env.BATON_DHCP_HOSTS)
      .filter((text) => parseHost(text) === undefined)
      .map((text) => `BATON_DHCP_HOSTS: must be like 52:54:00:12:34:56=10.1.0.50, not '${text}'`),
    ...listOf(env.BATON_DHCP_NAME_SERVERS)
      .filter((text) => !isIPv4(text))
      .map((text) => `BATON_DHCP_NAME_SERVERS: must be IPv4 addresses, not '${text}'`),
  ];
}

/** From settings without problems; `undefined` = off. */
export function readDhcpConfig(
  env: DhcpEnvironment & { readonly BATON_DATA_DIR: string },
  bootUrl: string,
): DhcpConfig | undefined {
  if (env.BATON_DHCP === 'off') return undefined;
  return {
    mode: env.BATON_DHCP,
    interface: env.BATON_DHCP_INTERFACE,
    ranges: listOf(env.BATON_DHCP_RANGES).flatMap((text) => parseRange(text) ?? []),
    knownRanges: listOf(env.BATON_DHCP_KNOWN_RANGES).flatMap((text) => parseRange(text) ?? []),
    leaseSeconds: env.BATON_DHCP_LEASE,
    hosts: listOf(env.BATON_DHCP_HOSTS).flatMap((text) => parseHost(text) ?? []),
    router: env.BATON_DHCP_ROUTER,
    nameServers: listOf(env.BATON_DHCP_NAME_SERVERS),
    ipv6Prefix: env.BATON_DHCP_IPV6_PREFIX,
    tftpDirectory: env.BATON_IPXE_DIR,
    bootUrl,
    directory: join(env.BATON_DATA_DIR, 'dhcp'),
  };
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function parseRange(text: string): AddressRange | undefined {
  const [, first = '', last = '', length] = /^([^-/]+)-([^-/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bits = isIPv4(first) && isIPv4(last) ? 32 : isIPv6(first) && isIPv6(last) ? 128 : undefined;
  // dnsmasq gives out addresses of /64 and longer prefixes only (dnsmasq(8), --dhcp-range)
  const isLength = length === undefined || (Number(length) <= (bits ?? 0) && Number(length) >= (bits === 128 ? 64 : 1));
  if (bits === undefined || !isLength) return undefined;
  return { first, last, prefixLength: length === undefined ? undefined : Number(length) };
}

function parseHost(text: string): DhcpConfig['hosts'][number] | undefined {
  const [given = '', address = '', ...rest] = text.split('=');
  const mac = parseMacAddress(given);
  return mac !== undefined && isIPv4(address) && rest.length === 0 ? { mac, address } : undefined;
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/**
 * The interface on the provisioning network among this machine's (`os.networkInterfaces()`).
 * @throws AppError `invalid_argument` naming the setting and what would be right.
 */
export function findInterface(config: DhcpConfig, interfaces: Interfaces): DhcpInterface {
  const name = config.interface ?? interfaceOf(config.bootUrl, interfaces);
  const addresses = (interfaces[name] ?? []).filter(({ internal }) => !internal);
  if (addresses.length === 0) {
    throw wrong(`${name} is not an interface of this machine with an address: it must be ${namesOf(interfaces)}`);
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
