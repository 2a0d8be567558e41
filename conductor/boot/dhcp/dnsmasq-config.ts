import { mkdir, rename, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { AddressRange, DhcpConfig, DhcpInterface } from '#conductor/boot/dhcp/dhcp-settings.ts';
import type { PeriodicTask } from '#conductor/kernel/wake-loop.ts';

/**
 * Client architectures (RFC 4578, IANA "processor architecture types"), the first file that each is given, and what
 * dnsmasq calls those that are given it by a menu of boot services.
 */
const architectures = [
  { tag: 'bios', numbers: [0], file: 'undionly.kpxe', services: [] },
  { tag: 'uefi', numbers: [7, 9], file: 'snponly.efi', services: ['BC_EFI', 'x86-64_EFI'] },
  { tag: 'arm64', numbers: [11], file: 'ipxe-arm64.efi', services: ['ARM64_EFI'] },
] as const;
const httpArchitectures = [
  { tag: 'http', number: 16, file: 'snponly.efi' },
  { tag: 'httparm64', number: 19, file: 'ipxe-arm64.efi' },
] as const;

/**
 * dnsmasq's configuration: DHCP (or proxyDHCP, PXE 2.1 §2.2.3) and TFTP on one interface, no DNS.
 * Firmware loads iPXE over TFTP (or HTTP, where it can), iPXE loads the conductor's first script.
 */
export function renderDnsmasqConfig(config: DhcpConfig, device: DhcpInterface): string {
  const base = config.bootUrl.replace(/\/+$/, '');
  const lines = [
    'port=0',
    `interface=${device.name}`,
    'except-interface=lo',
    'bind-interfaces',
    'no-resolv',
    'no-hosts',
    'log-dhcp',
    'enable-tftp',
    `tftp-root=${config.tftpDirectory}`,
    `dhcp-leasefile=${config.directory}/leases`,
    'dhcp-match=set:ipxe,175',
    ...architectures.flatMap(({ tag, numbers }) =>
      numbers.map((number) => `dhcp-match=set:${tag},option:client-arch,${number}`),
    ),
    ...httpArchitectures.map(({ tag, number }) => `dhcp-match=set:${tag},option:client-arch,${number}`),
    ...(config.mode === 'proxy' ? proxyLines(device) : serverLines(config, device)),
    ...architectures.map(({ tag, file }) => `dhcp-boot=tag:!ipxe,tag:${tag},${file}`),
    ...httpArchitectures.map(({ tag, file }) => `dhcp-boot=tag:!ipxe,tag:${tag},${base}/boot/${file}`),
    `dhcp-boot=tag:ipxe,${base}/boot/boot.ipxe`,
  ];
  return `${lines.join('\n')}\n`;
}

function proxyLines({ subnet }: DhcpInterface): string[] {
  return [
    `dhcp-range=${subnet},proxy`,
    // firmware that boots by HTTP takes an answer only when it calls itself HTTPClient
    'dhcp-pxe-vendor=PXEClient,HTTPClient',
    // UEFI asks again at port 4011 and gets this; BIOS, without such a menu, loads the file of `dhcp-boot`
    ...architectures.flatMap(({ services, file }) =>
      services.map((service) => `pxe-service=tag:!ipxe,${service},"Baton",${file}`),
    ),
  ];
}

function serverLines(config: DhcpConfig, device: DhcpInterface): string[] {
  const { ranges, knownRanges, hosts, router, nameServers } = config;
  return [
    'dhcp-authoritative',
    // dnsmasq would ping each address for 3 s before it offers it
    'no-ping',
    ...ranges.map((range) => `dhcp-range=${rangeOf(range)},${config.leaseSeconds}s`),
    // dnsmasq tags `known` who stands in a line of the directory or has a fixed address
    ...knownRanges.map((range) => `dhcp-range=tag:known,${rangeOf(range)},${config.leaseSeconds}s`),
    ...(knownRanges.length > 0 ? [`dhcp-hostsdir=${knownMachinesDirectory(config)}`] : []),
    ...hosts.map(({ mac, address }) => `dhcp-host=${mac},${address}`),
    // an option without a value keeps dnsmasq from naming itself
    `dhcp-option=option:router${router === undefined ? '' : `,${router}`}`,
    `dhcp-option=${['option:dns-server', ...nameServers].join(',')}`,
    // 175.176: iPXE shall not wait for a proxy DHCP server's offer
    'dhcp-option=tag:ipxe,encap:175,176,1b',
    ...httpArchitectures.map(({ tag }) => `dhcp-option-force=tag:!ipxe,tag:${tag},option:vendor-class,HTTPClient`),
    ...ipv6Lines(config, device),
  ];
}

function rangeOf({ first, last, prefixLength }: AddressRange): string {
  if (!isIPv4(first)) return `${first},${last},${prefixLength ?? 64}`;
  return prefixLength === undefined ? `${first},${last}` : `${first},${last},${netmaskOf(prefixLength)}`;
}

/** 24 → `255.255.255.0`. */
function netmaskOf(prefixLength: number): string {
  const mask = (0xffffffff << (32 - prefixLength)) >>> 0;
  return [24, 16, 8, 0].map((shift) => (mask >>> shift) & 0xff).join('.');
}

/** DHCPv6 gives files as URLs (RFC 5970), and recognises iPXE by its user class. */
function ipv6Lines({ ranges, ipv6Prefix, bootUrl }: DhcpConfig, { ipv6Address }: DhcpInterface): string[] {
  const gives = ranges.some(({ first }) => !isIPv4(first));
  if (!gives && ipv6Prefix === undefined) return [];
  const base = bootUrl.replace(/\/+$/, '');
  const fileUrl = (tags: string, url: string): string => `dhcp-option=${tags},option6:bootfile-url,${url}`;
  return [
    'enable-ra',
    ...(ipv6Prefix === undefined ? [] : [`dhcp-range=${ipv6Prefix},ra-only,64,3600`]),
    ...(gives
      ? [
          'dhcp-userclass=set:ipxe,iPXE',
          ...architectures.flatMap(({ tag, numbers }) =>
            numbers.map((number) => `dhcp-match=set:${tag},option6:61,00:${number.toString(16).padStart(2, '0')}`),
          ),
          ...httpArchitectures.map(
            ({ tag, number }) => `dhcp-match=set:${tag},option6:61,00:${number.toString(16).padStart(2, '0')}`,
          ),
          ...architectures.map(({ tag, file }) => fileUrl(`tag:!ipxe,tag:${tag}`, `tftp://[${ipv6Address}]/${file}`)),
          ...httpArchitectures.map(({ tag, file }) => fileUrl(`tag:!ipxe,tag:${tag}`, `${base}/boot/${file}`)),
          fileUrl('tag:ipxe', `${base}/boot/boot.ipxe`),
        ]
      : []),
  ];
}

const lookMs = 2000;

/** dnsmasq reads each file that is put there, by inotify. */
const knownMachinesDirectory = ({ directory }: Pick<DhcpConfig, 'directory'>): string => join(directory, 'known');

/** Must be there before dnsmasq starts. */
export async function makeKnownMachinesDirectory(config: DhcpConfig): Promise<void> {
  await mkdir(knownMachinesDirectory(config), { recursive: true, mode: 0o755 });
}

/**
 * Has dnsmasq know the machines with these MAC addresses, those of all ports. One whose port is deleted stays known until dnsmasq starts again
 * (dnsmasq(8), --dhcp-hostsdir).
 */
export function listKnownMachines(config: DhcpConfig, listAddresses: () => Promise<string[]>): PeriodicTask {
  const directory = knownMachinesDirectory(config);
  const fixed = new Set(config.hosts.map(({ mac }) => mac));
  let written: string | undefined;
  return {
    name: 'list known machines',
    periodMs: lookMs,
    run: async () => {
      // one with a fixed address is known by that, which a second line might take from it
      const addresses = (await listAddresses()).filter((address) => !fixed.has(address));
      const text = addresses.map((address) => `${address}\n`).join('');
      if (text === written) return;
      // dnsmasq passes over names that begin with a dot
      const unfinished = join(directory, '.machines');
      await writeFile(unfinished, text, { mode: 0o644 });
      await rename(unfinished, join(directory, 'machines'));
      written = text;
    },
  };
}
