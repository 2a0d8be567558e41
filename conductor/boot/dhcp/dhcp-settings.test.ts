import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type DhcpConfig,
  dhcpEnvironment,
  dhcpProblems,
  findInterface,
  readDhcpConfig,
} from '#conductor/boot/dhcp/dhcp-settings.ts';

const Environment = z.object({ ...dhcpEnvironment, BATON_DATA_DIR: z.string().default('/var/lib/baton') });
const server = { BATON_DHCP: 'server', BATON_DHCP_RANGES: '10.1.0.100-10.1.0.200' };
const url = 'http://10.1.0.1:6385';
type Settings = Readonly<Record<string, string>>;
const problems = (settings: Settings, bootUrl = url) => dhcpProblems(Environment.parse(settings), bootUrl);
const configOf = (settings: Settings, bootUrl = url) =>
  readDhcpConfig(Environment.parse(settings), bootUrl) as DhcpConfig;

test('is off by default, whatever else is set', () => {
  expect(problems({ BATON_DHCP_RANGES: 'x' }, 'http://127.0.0.1:6385')).toEqual([]);
  expect(configOf({})).toBeUndefined();
});

const bad: [settings: Settings, says: string][] = [
  [{ BATON_DHCP_RANGES: '' }, 'BATON_DHCP_RANGES: with BATON_DHCP=server it must be given'],
  [
    { BATON_DHCP_RANGES: '10.1.0.1' },
    "BATON_DHCP_RANGES: must be like 10.1.0.100-10.1.0.200 or fd00:1::100-fd00:1::1ff, not '10.1.0.1'",
  ],
  [{ BATON_DHCP_RANGES: '10.1.0.1-x' }, "not '10.1.0.1-x'"],
  [{ BATON_DHCP_RANGES: '10.1.0.1-fd00::1' }, 'BATON_DHCP_RANGES: must be like'],
  [{ BATON_DHCP_RANGES: '10.1.0.1-10.1.0.2/33' }, 'BATON_DHCP_RANGES: must be like'],
  [{ BATON_DHCP_RANGES: '10.1.0.1-10.1.0.2/0' }, 'BATON_DHCP_RANGES: must be like'],
  [{ BATON_DHCP_RANGES: 'fd00::1-fd00::2/48' }, 'BATON_DHCP_RANGES: must be like'],
  [{ BATON_DHCP_RANGES: '10.1.0.1-10.1.0.2\nport=53' }, 'BATON_DHCP_RANGES: must be like'],
  [
    { BATON_DHCP_KNOWN_RANGES: 'fd00::1-fd00::2' },
    "BATON_DHCP_KNOWN_RANGES: must be IPv4 addresses like 10.1.0.100-10.1.0.200, not 'fd00::1-fd00::2'",
  ],
  [{ BATON_DHCP_KNOWN_RANGES: '10.1.0.1' }, "not '10.1.0.1'"],
  [
    { BATON_DHCP_HOSTS: '52:54=10.1.0.1' },
    "BATON_DHCP_HOSTS: must be like 52:54:00:12:34:56=10.1.0.50, not '52:54=10.1.0.1'",
  ],
  [{ BATON_DHCP_HOSTS: '52:54:00:12:34:56=10.1.0.1=x' }, 'BATON_DHCP_HOSTS: must be like'],
  [{ BATON_DHCP_NAME_SERVERS: '10.1.0.2,::1' }, "BATON_DHCP_NAME_SERVERS: must be IPv4 addresses, not '::1'"],
];
test.each(bad)('refuses %j', (settings, says) => {
  expect(problems({ ...server, ...settings }).join('\n')).toContain(says);
});

test('known machines alone may get addresses', () => {
  expect(problems({ ...server, BATON_DHCP_RANGES: '', BATON_DHCP_KNOWN_RANGES: '10.1.0.10-10.1.0.20' })).toEqual([]);
});

test('refuses a boot URL that machines can not reach or that breaks the configuration', () => {
  expect(problems(server, 'http://127.0.0.1:6385')).toEqual([
    "BATON_BOOT_URL: with BATON_DHCP=server machines are sent to http://127.0.0.1:6385, which they can't reach",
  ]);
  expect(problems(server, 'http://10.1.0.1/,y')[0]).toContain('must be without comma and query');
});

test('beside another server what that one gives out is left out', () => {
  expect(problems({ BATON_DHCP: 'proxy' })).toEqual([]);
  expect(problems({ ...server, BATON_DHCP: 'proxy', BATON_DHCP_ROUTER: '10.1.0.1' })).toEqual([
    'BATON_DHCP_RANGES: with BATON_DHCP=proxy the other DHCP server gives out addresses: leave it out',
    'BATON_DHCP_ROUTER: with BATON_DHCP=proxy the other DHCP server gives out addresses: leave it out',
  ]);
});

test.each([
  ['BATON_DHCP', 'on', 'must be off, proxy or server'],
  ['BATON_DHCP_INTERFACE', 'eth*', 'must be the name of a network interface'],
  ['BATON_DHCP_INTERFACE', 'sixteen-letters-', 'must be the name of a network interface'],
  ['BATON_DHCP_IPV6_PREFIX', '2001:db8::', 'must be a prefix such as fd00:1::'],
  ['BATON_DHCP_IPV6_PREFIX', 'fd00::1', 'must be a prefix such as fd00:1::'],
  ['BATON_DHCP_IPV6_PREFIX', 'fd:::', 'must be a prefix such as fd00:1::'],
  ['BATON_DHCP_ROUTER', 'gateway', 'must be an IPv4 address'],
  ['BATON_IPXE_DIR', 'relative', 'must be an absolute path without blanks'],
  ['BATON_IPXE_DIR', '/a\nport=53', 'must be an absolute path without blanks'],
])('%s=%j is refused', (name, value, says) => {
  expect(Environment.safeParse({ [name]: value }).error?.issues[0]?.message).toContain(says);
});

const address = (text: string, more: object = {}) => ({
  address: text,
  netmask: '255.255.240.0',
  family: text.includes(':') ? ('IPv6' as const) : ('IPv4' as const),
  mac: '52:54:00:00:00:01',
  internal: false,
  cidr: null,
  scopeid: 0,
  ...more,
});
const machine = {
  lo: [address('127.0.0.1', { internal: true })],
  eth0: [address('192.0.2.7')],
  eth1: [address('10.1.17.1'), address('fe80::1'), address('fd00:1::1')],
  eth2: [address('fe80::2')],
} as unknown as ReturnType<typeof networkInterfaces>;

test('finds the interface by the boot URL, or by its name', () => {
  const eth1 = { name: 'eth1', subnet: '10.1.16.0', ipv6Address: 'fd00:1::1' };
  expect(findInterface(configOf(server, 'http://10.1.17.1:6385'), machine)).toEqual(eth1);
  expect(findInterface(configOf(server, 'http://[fd00:1::1]:6385'), machine)).toEqual(eth1);
  expect(findInterface(configOf({ ...server, BATON_DHCP_INTERFACE: 'eth1' }), machine)).toEqual(eth1);
});

test('names the interfaces that there are', () => {
  const find = (settings: Settings) => () => findInterface(configOf({ ...server, ...settings }), machine);
  expect(find({})).toThrow(
    'BATON_DHCP_INTERFACE: no interface of this machine has the address of http://10.1.0.1:6385: name the one, eth0 or eth1',
  );
  expect(find({ BATON_DHCP_INTERFACE: 'eth9' })).toThrow('eth9 is not an interface of this machine with an address');
  expect(find({ BATON_DHCP_INTERFACE: 'eth2' })).toThrow('eth2 has no IPv4 address');
  expect(find({ BATON_DHCP_INTERFACE: 'eth0', BATON_DHCP_IPV6_PREFIX: 'fd00:1::' })).toThrow(
    'eth0 has no IPv6 address',
  );
});
