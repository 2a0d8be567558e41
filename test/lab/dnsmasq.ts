import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDnsmasqConfig } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabSite } from '#test/lab/lab.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { labAddresses, switchName } from '#test/lab/network.ts';
import { labMtu } from '#test/lab/qemu-arguments.ts';

const { provisioning } = labAddresses;
const ipv6Prefix = provisioning.ula.replace(/1$/, '');
const ranges = { first: '10.100.0.50', last: '10.100.0.250' };

type CleanUp = Pick<LabSite, 'defer'>;

/** The conductor's settings with which it answers DHCP on the provisioning network. */
export const dhcpSettings = {
  BATON_DHCP: 'server',
  BATON_DHCP_RANGES: `${ranges.first}-${ranges.last}`,
  BATON_DHCP_IPV6_PREFIX: ipv6Prefix,
} as const;

/** The same without a conductor: sends machines to `bootUrl`. */
export function startProvisioningDhcp(lab: LabDirectory, bootUrl: string, cleanUp: CleanUp): void {
  const config = {
    mode: 'server',
    interface: provisioning.device,
    ranges: [{ ...ranges, prefixLength: undefined }],
    knownRanges: [],
    leaseSeconds: 3600,
    hosts: [],
    router: undefined,
    nameServers: [],
    ipv6Prefix,
    tftpDirectory: '/usr/lib/ipxe',
    bootUrl,
    directory: lab.path,
  } as const;
  const text = renderDnsmasqConfig(config, { name: provisioning.device, subnet: undefined, ipv6Address: undefined });
  startDnsmasq(lab, 'provisioning-dhcp', text, cleanUp);
}

/** Plain DHCP, as a tenant's network has it: an address and nothing else. */
export function startTenantDhcp(lab: LabDirectory, cleanUp: CleanUp): void {
  const range = { first: '10.200.0.50', last: '10.200.0.250' };
  startPlainDhcp(lab, { name: 'tenant', device: labAddresses.tenant.device, range }, cleanUp);
}

/** Somebody else's server on the provisioning network, at a port of the switch of its own: addresses and nothing else. */
export async function startOthersDhcp(lab: LabSite): Promise<void> {
  const [device, { network }] = ['others-dhcp', lab];
  await network.vsctl('add-port', switchName, device, `tag=${provisioning.vlan}`);
  await network.vsctl('set', 'Interface', device, 'type=internal', `mtu_request=${labMtu}`);
  const commands = [
    // the conductor's address is at its own device alone
    ['sysctl', '--quiet', '--write', `net.ipv4.conf.${device}.arp_ignore=1`],
    ['ip', 'addr', 'add', '10.100.0.2/24', 'dev', device, 'noprefixroute'],
    ['ip', 'link', 'set', device, 'up'],
  ] as const;
  for (const [command, ...args] of commands) {
    const exitCode = await network.tryInside(command, ...args);
    if (exitCode !== 0) throw new AppError('internal', `${command} ${args.join(' ')} exited with ${exitCode}`);
  }
  startPlainDhcp(lab.directory, { name: 'others', device, range: ranges }, lab);
}

function startPlainDhcp(
  lab: LabDirectory,
  { name, device, range }: { readonly name: string; readonly device: string; readonly range: typeof ranges },
  cleanUp: CleanUp,
): void {
  const text = `port=0
interface=${device}
except-interface=lo
bind-interfaces
dhcp-authoritative
no-ping
no-resolv
no-hosts
dhcp-leasefile=${leaseFile(lab, name)}
pid-file=${join(lab.path, `${name}-dhcp.pid`)}
dhcp-range=${range.first},${range.last},255.255.255.0,3600s
dhcp-option=option:router
dhcp-option=option:dns-server
`;
  startDnsmasq(lab, `${name}-dhcp`, text, cleanUp);
}

/** The address that the tenant network's DHCP server gave to a MAC address, if it did. */
export function tenantAddress(lab: LabDirectory, mac: string): string | undefined {
  // `<expiry> <mac> <address> <host name> <client id>`
  const leases = readFileSync(leaseFile(lab, 'tenant'), { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .map((line) => line.split(' '));
  return leases.find(([, leased]) => leased === mac.toLowerCase())?.[2];
}

function leaseFile(lab: LabDirectory, name: string): string {
  return join(lab.path, `${name}.leases`);
}

function startDnsmasq(lab: LabDirectory, name: string, configuration: string, cleanUp: CleanUp): void {
  const file = join(lab.path, `${name}.conf`);
  writeFileSync(file, configuration);
  const process = startLabProcess(
    'dnsmasq',
    // as root: its own user could not write into the lab's directory
    ['--keep-in-foreground', `--conf-file=${file}`, '--user=root', '--log-facility=-', '--log-dhcp'],
    { namespace: lab.namespace, directory: lab.path, name },
  );
  cleanUp.defer(() => process.stop());
}
