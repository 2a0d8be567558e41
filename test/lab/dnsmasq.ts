import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDnsmasqConfig } from '#conductor/boot/dnsmasq-config.ts';
import { startLabProcess } from '#test/lab/inside.ts';
import type { LabDirectory } from '#test/lab/lab-directory.ts';
import { labAddresses } from '#test/lab/network.ts';

/** DHCP and TFTP of the provisioning network, by the configuration that operators get from the project. */
export function startProvisioningDhcp(lab: LabDirectory, publicUrl: string, cleanUp: AsyncDisposableStack): void {
  const { provisioning } = labAddresses;
  const text = renderDnsmasqConfig({
    interface: provisioning.device,
    ranges: [{ first: '10.100.0.50', last: '10.100.0.250', netmask: '255.255.255.0' }],
    tftpDirectory: '/usr/lib/ipxe',
    publicUrl,
    advertisePrefix: provisioning.ula.replace(/1$/, ''),
    leaseFile: join(lab.path, 'provisioning.leases'),
    pidFile: join(lab.path, 'provisioning-dhcp.pid'),
  });
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
