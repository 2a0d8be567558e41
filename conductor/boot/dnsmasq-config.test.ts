import { describe, expect, test } from 'vitest';
import { type DnsmasqOptions, renderDnsmasqConfig } from '#conductor/boot/dnsmasq-config.ts';

const options: DnsmasqOptions = {
  interface: 'prov0',
  ranges: [{ first: '10.1.0.100', last: '10.1.0.200' }],
  tftpDirectory: '/usr/lib/ipxe',
  publicUrl: 'http://10.1.0.1:6385',
  leaseFile: '/var/lib/baton/leases',
};
const lines = (overrides: Partial<DnsmasqOptions> = {}): string[] =>
  renderDnsmasqConfig({ ...options, ...overrides }).split('\n');

describe('renderDnsmasqConfig', () => {
  test('sends each kind of firmware its first file, and iPXE the first script', () => {
    const boots = lines().filter((line) => line.startsWith('dhcp-boot='));
    expect(boots).toEqual([
      'dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe',
      'dhcp-boot=tag:!ipxe,tag:uefi,snponly.efi',
      'dhcp-boot=tag:!ipxe,tag:http,http://10.1.0.1:6385/boot/snponly.efi',
      'dhcp-boot=tag:ipxe,http://10.1.0.1:6385/boot/boot.ipxe',
    ]);
    expect(lines()).toEqual(
      expect.arrayContaining([
        'dhcp-match=set:bios,option:client-arch,0',
        'dhcp-match=set:uefi,option:client-arch,7',
        'dhcp-match=set:uefi,option:client-arch,9',
        'dhcp-match=set:http,option:client-arch,16',
        'dhcp-match=set:ipxe,175',
        'dhcp-option=tag:ipxe,encap:175,176,1b',
        'dhcp-option-force=tag:!ipxe,tag:http,option:vendor-class,HTTPClient',
        'no-ping',
        'port=0',
        'dhcp-range=10.1.0.100,10.1.0.200,3600s',
        'dhcp-option=option:router',
        'dhcp-option=option:dns-server',
      ]),
    );
    expect(lines()).not.toContain('enable-ra');
  });

  test('writes what is optional', () => {
    expect(
      lines({
        ranges: [{ first: '10.1.0.100', last: '10.1.0.200', netmask: '255.255.0.0', leaseSeconds: 600 }],
        hosts: [{ mac: '52-54-00-12-34-56', address: '10.1.0.50' }],
        router: '10.1.0.1',
        nameServers: ['10.1.0.2', '10.1.0.3'],
        advertisePrefix: 'fd00:1::',
        pidFile: '/run/x.pid',
        publicUrl: 'http://10.1.0.1:6385/',
      }),
    ).toEqual(
      expect.arrayContaining([
        'dhcp-range=10.1.0.100,10.1.0.200,255.255.0.0,600s',
        'dhcp-host=52:54:00:12:34:56,10.1.0.50',
        'dhcp-option=option:router,10.1.0.1',
        'dhcp-option=option:dns-server,10.1.0.2,10.1.0.3',
        'enable-ra',
        'dhcp-range=fd00:1::,ra-only,64,3600',
        'pid-file=/run/x.pid',
        'dhcp-boot=tag:ipxe,http://10.1.0.1:6385/boot/boot.ipxe',
      ]),
    );
  });

  const bad: [overrides: Partial<DnsmasqOptions>, says: string][] = [
    [{ interface: 'a\nb' }, 'interface must be an interface\'s name, and is "a\\nb"'],
    [{ interface: 'eth*' }, 'interface must be'],
    [{ interface: 'sixteen-letters-' }, 'interface must be'],
    [{ ranges: [] }, 'ranges must be one range at least'],
    [{ ranges: [{ first: 'x', last: '10.1.0.2' }] }, 'ranges[0].first must be an IPv4 address, and is "x"'],
    [{ ranges: [{ first: '10.1.0.1', last: '' }] }, 'ranges[0].last must be'],
    [{ ranges: [{ first: '10.1.0.1', last: '10.1.0.2', netmask: '24' }] }, 'ranges[0].netmask must be'],
    [{ ranges: [{ first: '10.1.0.1', last: '10.1.0.2', leaseSeconds: 1.5 }] }, 'ranges[0].leaseSeconds must be'],
    [{ hosts: [{ mac: '52:54', address: '10.1.0.1' }] }, 'hosts[0].mac must be a MAC address'],
    [{ hosts: [{ mac: '52:54:00:12:34:56', address: '10.1.0.1,x' }] }, 'hosts[0].address must be'],
    [{ router: 'gateway' }, 'router must be'],
    [{ nameServers: ['10.1.0.2', '::1'] }, 'nameServers[1] must be'],
    [{ advertisePrefix: '2001:db8::' }, 'advertisePrefix must be'],
    [{ advertisePrefix: 'fd00::1' }, 'advertisePrefix must be'],
    [{ tftpDirectory: 'relative' }, 'tftpDirectory must be an absolute path'],
    [{ leaseFile: '/a\nport=53' }, 'leaseFile must be'],
    [{ pidFile: '' }, 'pidFile must be'],
    [{ publicUrl: 'http://x/,y' }, 'publicUrl must be'],
    [{ publicUrl: 'tftp://x' }, 'publicUrl must be'],
  ];
  test.each(bad)('refuses %j', (overrides, says) => {
    expect(() => lines(overrides)).toThrow(says);
  });

  test('lists all faults at once', () => {
    expect(() => lines({ router: 'a', leaseFile: 'b' })).toThrow(/router must be .*; leaseFile must be /);
  });
});
