import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDnsmasqConfig } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { labAddresses } from '#test/lab/network.ts';

const { provisioning } = labAddresses;
const ipv6Prefix = provisioning.ula.replace(/1$/, '');
const ranges = { first: '10.100.0.50', last: '10.100.0.250' };

/** The conductor's settings with which it answers DHCP on the provisioning network. */
export const dhcpSettings = {
  BATON_DHCP: 'server',
  BATON_DHCP_RANGES: `${ranges.first}-${ranges.last}`,
  BATON_DHCP_IPV6_PREFIX: ipv6Prefix,
} as const;

/** The same without a conductor: sends machines to `bootUrl`. */
export function startProvisioningDhcp(lab: LabDirectory, bootUrl: string, cleanUp: AsyncDisposableStack): void {
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
export function startTenantDhcp(lab: LabDirectory, cleanUp: AsyncDisposableStack): void {
  const text = `port=0
interface=${labAddresses.tenant.device}
except-interface=lo
bind-interfaces
dhcp-authoritative
no-ping
no-resolv
no-hosts
dhcp-leasefile=${tenantLeaseFile(lab)}
pid-file=${join(lab.path, 'tenant-dhcp.pid')}
dhcp-range=10.200.0.50,10.200.0.250,255.255.255.0,3600s
dhcp-option=option:router
dhcp-option=option:dns-server
`;
  startDnsmasq(lab, 'tenant-dhcp', text, cleanUp);
}

/** The address that the tenant network's DHCP server gave to a MAC address, if it did. */
export function tenantAddress(lab: LabDirectory, mac: string): string | undefined {
  // `<expiry> <mac> <address> <host name> <client id>`
  const leases = readFileSync(tenantLeaseFile(lab), { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .map((line) => line.split(' '));
  return leases.find(([, leased]) => leased === mac.toLowerCase())?.[2];
}

function tenantLeaseFile(lab: LabDirectory): string {
  return join(lab.path, 'tenant.leases');
}

function startDnsmasq(lab: LabDirectory, name: string, configuration: string, cleanUp: AsyncDisposableStack): void {
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
