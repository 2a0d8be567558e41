import { isIPv4, isIPv6 } from 'node:net';
import { isAbsolute } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

export interface DnsmasqOptions {
  /** The interface on the provisioning network. */
  readonly interface: string;
  /** IPv4 ranges to give out. */
  readonly ranges: readonly {
    readonly first: string;
    readonly last: string;
    /** Default: that of the interface. */
    readonly netmask?: string;
    /** Default 3600. */
    readonly leaseSeconds?: number;
  }[];
  /** Fixed addresses. */
  readonly hosts?: readonly { readonly mac: string; readonly address: string }[];
  /** Absent: machines get no router. */
  readonly router?: string;
  /** Absent: machines get no name server. */
  readonly nameServers?: readonly string[];
  /** Holds `undionly.kpxe` and `snponly.efi`; Debian's package ipxe has them in `/usr/lib/ipxe`. */
  readonly tftpDirectory: string;
  /** The conductor's public URL. */
  readonly publicUrl: string;
  /**
   * A unique local prefix (`fd00:6261:746f:6e::`) to advertise; the host's interface needs an address in it.
   * iPXE of 2019 waits some 16 seconds for router advertisements where there are none.
   */
  readonly advertisePrefix?: string;
  readonly leaseFile: string;
  readonly pidFile?: string;
}

/** Client architectures (RFC 4578, IANA "processor architecture types") and the first file that each is given. */
const architectures = [
  { tag: 'bios', numbers: [0], file: 'undionly.kpxe' },
  { tag: 'uefi', numbers: [7, 9], file: 'snponly.efi' },
] as const;
const httpBootArchitecture = 16;

/**
 * dnsmasq's configuration file: DHCP and TFTP on one interface, no DNS.
 * Firmware loads iPXE over TFTP (or HTTP, where it can), iPXE loads the conductor's first script.
 * @throws AppError `invalid_argument` listing every option that is wrong.
 */
export function renderDnsmasqConfig(options: DnsmasqOptions): string {
  const faults = faultsOf(options);
  if (faults.length > 0) {
    throw new AppError('invalid_argument', `dnsmasq options are wrong: ${faults.join('; ')}`, { details: { faults } });
  }
  const base = options.publicUrl.replace(/\/+$/, '');
  const lines = [
    'port=0',
    `interface=${options.interface}`,
    'except-interface=lo',
    'bind-interfaces',
    'dhcp-authoritative',
    // dnsmasq would ping each address for 3 s before it offers it
    'no-ping',
    'no-resolv',
    'no-hosts',
    `dhcp-leasefile=${options.leaseFile}`,
    ...(options.pidFile === undefined ? [] : [`pid-file=${options.pidFile}`]),
    ...options.ranges.map(({ first, last, netmask, leaseSeconds }) => {
      const mask = netmask === undefined ? [] : [netmask];
      return `dhcp-range=${[first, last, ...mask, `${leaseSeconds ?? 3600}s`].join(',')}`;
    }),
    ...(options.hosts ?? []).map(({ mac, address }) => `dhcp-host=${parseMacAddress(mac)},${address}`),
    // an option without a value keeps dnsmasq from naming itself
    `dhcp-option=option:router${options.router === undefined ? '' : `,${options.router}`}`,
    `dhcp-option=${['option:dns-server', ...(options.nameServers ?? [])].join(',')}`,
    ...(options.advertisePrefix === undefined
      ? []
      : ['enable-ra', `dhcp-range=${options.advertisePrefix},ra-only,64,3600`]),
    'enable-tftp',
    `tftp-root=${options.tftpDirectory}`,
    'dhcp-match=set:ipxe,175',
    // 175.176: iPXE shall not wait for a proxy DHCP server's offer
    'dhcp-option=tag:ipxe,encap:175,176,1b',
    ...architectures.flatMap(({ tag, numbers }) =>
      numbers.map((number) => `dhcp-match=set:${tag},option:client-arch,${number}`),
    ),
    `dhcp-match=set:http,option:client-arch,${httpBootArchitecture}`,
    ...architectures.map(({ tag, file }) => `dhcp-boot=tag:!ipxe,tag:${tag},${file}`),
    // firmware takes an HTTP boot offer only when it calls itself one
    'dhcp-option-force=tag:!ipxe,tag:http,option:vendor-class,HTTPClient',
    `dhcp-boot=tag:!ipxe,tag:http,${base}/boot/snponly.efi`,
    `dhcp-boot=tag:ipxe,${base}/boot/boot.ipxe`,
  ];
  return `${lines.join('\n')}\n`;
}

function faultsOf(options: DnsmasqOptions): string[] {
  const faults: string[] = [];
  const need = (good: boolean, field: string, right: string, value: unknown): void => {
    if (!good) faults.push(`${field} must be ${right}, and is ${JSON.stringify(value)}`);
  };
  const address = (field: string, value: string): void => need(isIPv4(value), field, 'an IPv4 address', value);
  const path = (field: string, value: string): void =>
    need(isAbsolute(value) && /^[\x21-\x7e]+$/.test(value), field, 'an absolute path without blanks', value);
  // 15 characters at most (linux/if.h IFNAMSIZ); dnsmasq reads * as a wildcard
  need(/^[A-Za-z0-9._-]{1,15}$/.test(options.interface), 'interface', "an interface's name", options.interface);
  need(options.ranges.length > 0, 'ranges', 'one range at least', options.ranges);
  for (const [index, range] of options.ranges.entries()) {
    address(`ranges[${index}].first`, range.first);
    address(`ranges[${index}].last`, range.last);
    if (range.netmask !== undefined) address(`ranges[${index}].netmask`, range.netmask);
    const seconds = range.leaseSeconds ?? 3600;
    need(Number.isInteger(seconds) && seconds >= 120, `ranges[${index}].leaseSeconds`, '120 or more', seconds);
  }
  for (const [index, host] of (options.hosts ?? []).entries()) {
    need(parseMacAddress(host.mac) !== undefined, `hosts[${index}].mac`, 'a MAC address', host.mac);
    address(`hosts[${index}].address`, host.address);
  }
  if (options.router !== undefined) address('router', options.router);
  for (const [index, server] of (options.nameServers ?? []).entries()) address(`nameServers[${index}]`, server);
  const prefix = options.advertisePrefix;
  if (prefix !== undefined) {
    need(isIPv6(prefix) && /^f[cd].*::$/i.test(prefix), 'advertisePrefix', 'a prefix such as fd00:1::', prefix);
  }
  path('tftpDirectory', options.tftpDirectory);
  path('leaseFile', options.leaseFile);
  if (options.pidFile !== undefined) path('pidFile', options.pidFile);
  const url = options.publicUrl;
  need(/^https?:\/\/[^\s,?#]+$/.test(url) && URL.canParse(url), 'publicUrl', 'an http(s) URL without query', url);
  return faults;
}
