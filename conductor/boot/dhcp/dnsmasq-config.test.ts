import { expect, test } from 'vitest';
import { z } from 'zod';
import { type DhcpConfig, dhcpEnvironment, readDhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { renderDnsmasqConfig } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import { run } from '#shared/process/run.ts';

const device = { name: 'prov0', subnet: '10.1.0.0', ipv6Address: 'fd00:1::1' };
const Environment = z.object({ ...dhcpEnvironment, BATON_DATA_DIR: z.string().default('/var/lib/baton') });

function render(settings: Readonly<Record<string, string>>): string {
  const config = readDhcpConfig(Environment.parse(settings), 'http://10.1.0.1:6385') as DhcpConfig;
  return renderDnsmasqConfig(config, device);
}
const server = { BATON_DHCP: 'server', BATON_DHCP_RANGES: '10.1.0.100-10.1.0.200' };
const whole = {
  ...server,
  BATON_DHCP_RANGES: '10.1.0.100-10.1.0.200, 10.2.0.100-10.2.0.200/20, fd00:1::100-fd00:1::1ff',
  BATON_DHCP_KNOWN_RANGES: '10.1.1.100-10.1.1.200/16',
  BATON_DHCP_LEASE: '600',
  BATON_DHCP_HOSTS: '52-54-00-12-34-56=10.1.0.50',
  BATON_DHCP_ROUTER: '10.1.0.254',
  BATON_DHCP_NAME_SERVERS: '10.1.0.2,10.1.0.3',
  BATON_DHCP_IPV6_PREFIX: 'fd00:1::',
  BATON_IPXE_DIR: '/srv/tftp',
};

test('sends each kind of firmware its first file, and iPXE the first script', () => {
  const lines = render(server).split('\n');
  expect(lines.filter((line) => line.startsWith('dhcp-boot='))).toEqual([
    'dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe',
    'dhcp-boot=tag:!ipxe,tag:uefi,snponly.efi',
    'dhcp-boot=tag:!ipxe,tag:arm64,ipxe-arm64.efi',
    'dhcp-boot=tag:!ipxe,tag:http,http://10.1.0.1:6385/boot/snponly.efi',
    'dhcp-boot=tag:!ipxe,tag:httparm64,http://10.1.0.1:6385/boot/ipxe-arm64.efi',
    'dhcp-boot=tag:ipxe,http://10.1.0.1:6385/boot/boot.ipxe',
  ]);
  expect(lines).toEqual(
    expect.arrayContaining([
      'dhcp-match=set:bios,option:client-arch,0',
      'dhcp-match=set:uefi,option:client-arch,7',
      'dhcp-match=set:uefi,option:client-arch,9',
      'dhcp-match=set:arm64,option:client-arch,11',
      'dhcp-match=set:http,option:client-arch,16',
      'dhcp-match=set:httparm64,option:client-arch,19',
      'dhcp-match=set:ipxe,175',
      'dhcp-option=tag:ipxe,encap:175,176,1b',
      'dhcp-option-force=tag:!ipxe,tag:http,option:vendor-class,HTTPClient',
      'no-ping',
      'port=0',
      'dhcp-range=10.1.0.100,10.1.0.200,3600s',
      'dhcp-option=option:router',
      'dhcp-option=option:dns-server',
      'dhcp-leasefile=/var/lib/baton/dhcp/leases',
    ]),
  );
  expect(lines.filter((line) => /enable-ra|known/.test(line))).toEqual([]);
});

test('writes what is optional', () => {
  expect(render(whole).split('\n')).toEqual(
    expect.arrayContaining([
      'dhcp-range=10.1.0.100,10.1.0.200,600s',
      'dhcp-range=10.2.0.100,10.2.0.200,255.255.240.0,600s',
      'dhcp-range=fd00:1::100,fd00:1::1ff,64,600s',
      'dhcp-range=tag:known,10.1.1.100,10.1.1.200,255.255.0.0,600s',
      'dhcp-hostsdir=/var/lib/baton/dhcp/known',
      'dhcp-host=52:54:00:12:34:56,10.1.0.50',
      'dhcp-option=option:router,10.1.0.254',
      'dhcp-option=option:dns-server,10.1.0.2,10.1.0.3',
      'enable-ra',
      'dhcp-range=fd00:1::,ra-only,64,3600',
      'tftp-root=/srv/tftp',
      'dhcp-match=set:uefi,option6:61,00:07',
      'dhcp-option=tag:!ipxe,tag:uefi,option6:bootfile-url,tftp://[fd00:1::1]/snponly.efi',
      'dhcp-option=tag:ipxe,option6:bootfile-url,http://10.1.0.1:6385/boot/boot.ipxe',
    ]),
  );
});

test('beside another server it gives out no address', () => {
  const text = render({ BATON_DHCP: 'proxy' });
  expect(text).toContain('\ndhcp-range=10.1.0.0,proxy\n');
  expect(text).toContain('\npxe-service=tag:!ipxe,x86-64_EFI,"Baton",snponly.efi\n');
  expect(text).not.toContain('authoritative');
  expect(text).not.toContain('option:router');
});

test.each([[server], [whole], [{ BATON_DHCP: 'proxy' }]])(
  'dnsmasq itself takes what is rendered of %j',
  async (given) => {
    const { stderr } = await run('dnsmasq', ['--test', '--conf-file=-'], { input: render(given) });
    expect(stderr).toContain('syntax check OK');
  },
);
