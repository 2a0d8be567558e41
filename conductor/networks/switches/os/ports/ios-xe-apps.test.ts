import { expect, test } from 'vitest';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { vlansOfApps } from '#conductor/networks/switches/os/ports/ios-xe-apps.ts';

const app = (...lines: readonly string[]): string =>
  ['app-hosting appid iperf', ' app-vnic AppGigabitEthernet trunk', ...lines, ' app-resource docker'].join('\n');
const vlan100 = ['  vlan 100 guest-interface 0', '   guest-ipaddress 192.0.2.9 netmask 255.255.255.0'];

test('VLANs that applications are in, and none where none runs', () => {
  expect(vlansOfApps('')).toEqual(new Set());
  expect(vlansOfApps('app-hosting appid a\n app-vnic management guest-interface 0')).toEqual(new Set());
  expect(vlansOfApps(`${app(...vlan100)}\n${app('  vlan 7 guest-interface 1')}`)).toEqual(new Set([100, 7]));
});

test.each([
  [app()],
  [app('  guest-interface 1', '   mirroring', ...vlan100)],
  [app('  vlan all guest-interface 0')],
  [app('  vlan 4095 guest-interface 0')],
])('of %j nobody knows the VLANs', (config) => {
  expect(vlansOfApps(config)).toBe('unknown');
});

test('a VLAN of an application stays, and all do where it may be in any', () => {
  const table = '1    default    active\n100  baton-100  active\n200  baton-200  active';
  const own = (apps: string): number[] => [...(iosXe.removeVlan?.findOwn([table, `${apps}\nend`]) ?? [])];
  expect([own(''), own(app(...vlan100)), own(app())]).toEqual([[100, 200], [200], []]);
});

const readPort = (...lines: readonly string[]): readonly number[] | undefined =>
  iosXe.read
    .parse([
      ['interface AppGigabitEthernet1/0/1', ...lines.map((line) => ` ${line}`), 'end'].join('\n'),
      '1 default active',
    ])
    .carried?.get('AppGigabitEthernet1/0/1');

test('the port to them uses no VLAN by itself; one that is set by hand is read as any', () => {
  expect([readPort(), readPort('switchport mode trunk'), readPort('enable', 'switchport mode trunk')]).toEqual([
    [],
    [],
    [],
  ]);
  expect(readPort('switchport mode trunk', 'switchport trunk allowed vlan all')).toBeUndefined();
  expect(readPort('switchport access vlan 7')).toEqual([7]);
});
