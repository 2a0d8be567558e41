import { expect, test } from 'vitest';
import { parseXml } from '#conductor/networks/switches/netconf/xml.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { junos } from '#conductor/networks/switches/os/junos.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { openconfig } from '#conductor/networks/switches/os/openconfig.ts';
import { sonic } from '#conductor/networks/switches/os/sonic.ts';

/** Ports with other settings than Baton's, whose VLANs are known all the same, and such whose VLANs are not. */

function readNxos(lines: readonly string[]): readonly number[] | undefined {
  const config = ['interface Ethernet1/1', ...lines.map((line) => `  ${line}`)].join('\n');
  const shown = 'Name: Ethernet1/1\n  Switchport: Enabled\n  Operational Mode: trunk\n  Access Mode VLAN: 1 (default)';
  return nxos.read.parse([config, shown, '1 default active']).carried?.get('Ethernet1/1');
}

test('a link to an extender carries the VLANs of none of the switch’s ports; another port of an odd kind may', () => {
  expect(readNxos(['switchport mode fex-fabric', 'fex associate 104', 'channel-group 104'])).toEqual([]);
  expect(readNxos(['switchport mode dot1q-tunnel'])).toBeUndefined();
});

test('a port of EOS that is no switchport carries no VLAN of the switch; of another kind of trunk it is not known', () => {
  const switchportInfo = { mode: 'trunk', trunkAllowedVlans: '10', staticTrunkGroups: ['blue'] };
  const read = (enabled: boolean) =>
    eos.read
      .parse([
        JSON.stringify({ switchports: { Ethernet1: { enabled, switchportInfo } } }),
        '{"vlans":{"1":{}}}',
        '{"cmds":{"interface Ethernet1":{"cmds":{"switchport trunk group blue":null}}}}',
      ])
      .carried?.get('Ethernet1');
  expect([read(false), read(true)]).toEqual([[], undefined]);
});

function readIos(lines: readonly string[], shown: Readonly<Record<string, string>> | undefined): unknown {
  const config = ['interface GigabitEthernet1/0/1', ...lines.map((line) => ` ${line}`), 'end'].join('\n');
  const table = Object.entries({ Name: 'Gi1/0/1', 'Operational Mode': 'down', 'Voice VLAN': 'none', ...shown });
  const switchports = shown ? table.map(([name, value]) => `${name}: ${value}`).join('\n') : '';
  return iosXe.read.parse([config, '1 default active', switchports]).carried?.get('GigabitEthernet1/0/1');
}

test.each([
  [['no switchport'], { Switchport: 'Disabled', 'Access Mode VLAN': '1 (default)' }],
  [['no switchport', 'ip address 192.0.2.1 255.255.255.0'], undefined],
  [['vrf forwarding blue'], undefined],
  [['ip vrf forwarding blue'], undefined],
  [['ip address 192.0.2.1 255.255.255.0'], undefined],
])('a port of IOS with %j is routed, and carries no VLAN of the switch', (lines, shown) => {
  expect(readIos(lines, shown)).toEqual([]);
});

test('a port of IOS that nobody has set is in VLAN 1, or in that which is shown', () => {
  expect(readIos([], undefined)).toEqual([1]);
  expect(readIos([], { Switchport: 'Enabled', 'Access Mode VLAN': '1 (default)' })).toEqual([1]);
  expect(readIos([], { Switchport: 'Enabled', 'Access Mode VLAN': '7 (blue)' })).toEqual([7]);
  expect(readIos([], { Switchport: 'Enabled' })).toBeUndefined();
});

test.each([
  [['switchport mode trunk'], { Switchport: 'Enabled', 'Access Mode VLAN': '1' }],
  [['switchport access vlan dynamic'], undefined],
  [['channel-group 5 mode active'], { Switchport: 'Enabled', 'Access Mode VLAN': '1' }],
  [[], { Switchport: 'Enabled', 'Access Mode VLAN': '1', 'Operational Mode': 'trunk' }],
  [[], { Switchport: 'Enabled', 'Access Mode VLAN': '1', 'Voice VLAN': '7' }],
  [['switchport voice vlan dot1p'], undefined],
])('of a port of IOS with %j, shown with %j, nobody knows its VLANs', (lines, shown) => {
  expect(readIos(lines, shown)).toBeUndefined();
});

function readJunos(lines: readonly string[], vlans = 'set vlans default vlan-id 1\nset vlans blue vlan-id 7'): unknown {
  const config = lines.map((line) => `set interfaces ge-0/0/1 ${line}`).join('\n');
  return junos.read.parse(['ge-0/0/1  up  up', config, vlans, config, 'set version 21.4R3']).carried?.get('ge-0/0/1');
}

const switching = 'unit 0 family ethernet-switching';

test('a port of Junos that names no VLAN is in the default one', () => {
  expect(readJunos([switching])).toEqual([1]);
  expect(readJunos([`${switching} interface-mode access`, 'description node'])).toEqual([1]);
  expect(readJunos([switching], 'set vlans blue vlan-id 7')).toEqual([]);
});

test.each([
  [switching, 'unit 7 vlan-id 7'],
  [`${switching} interface-mode trunk`],
  [`${switching} vlan members all`],
  [switching, 'native-vlan-id 7'],
  [`${switching} vlan members blue`, 'ether-options 802.3ad ae1'],
  [switching, 'inner-vlan-id-range 1'],
])('of a port of Junos with %s nobody knows its VLANs', (...lines) => {
  expect(readJunos(lines)).toBeUndefined();
});

test('a routed port of Junos that a VLAN names may be in it', () => {
  expect(readJunos(['unit 0 family inet address 192.0.2.1/24'])).toEqual([]);
  expect(
    readJunos(
      ['unit 0 family inet address 192.0.2.1/24'],
      'set vlans blue vlan-id 7\nset vlans blue interface ge-0/0/1.0',
    ),
  ).toBeUndefined();
});

function readOpenconfig(inside: string): readonly number[] | undefined {
  const text = `<rpc-reply><data><interfaces><interface><name>if1</name>${inside}</interface></interfaces></data></rpc-reply>`;
  const none = JSON.stringify(parseXml('<rpc-reply><data/></rpc-reply>'));
  return openconfig.read.parse([JSON.stringify(parseXml(text)), none]).carried?.get('if1');
}

const up = '<enabled>true</enabled>';
const unit =
  '<subinterfaces><subinterface><index>0</index><ipv4><addresses><address><ip>192.0.2.1</ip></address></addresses></ipv4></subinterface></subinterfaces>';

test.each([
  `<config><type>ianaift:softwareLoopback</type>${up}</config>`,
  `<config>${up}</config><state><type>l3ipvlan</type></state>`,
  `<config>${up}</config><state><management>true</management></state>`,
  `<config>${up}</config>${unit}`,
])('an interface with %s carries no VLAN of the switch', (inside) => {
  expect(readOpenconfig(inside)).toEqual([]);
});

test.each([
  `<config><type>ianaift:ethernetCsmacd</type>${up}</config>`,
  `<config>${up}</config>${unit}<ethernet><switched-vlan><state><access-vlan>7</access-vlan></state></switched-vlan></ethernet>`,
  `<config>${up}</config>${unit}<ethernet><config><aggregate-id>Port-Channel7</aggregate-id></config></ethernet>`,
])('of an interface with %s nobody knows its VLANs', (inside) => {
  expect(readOpenconfig(inside)).toBeUndefined();
});

const readSonic = (database: object): readonly number[] | undefined =>
  sonic.read.parse([JSON.stringify({ PORT: { Ethernet0: {} }, ...database })]).carried?.get('Ethernet0');

test('a router interface of SONiC carries no VLAN but those that it is a member of', () => {
  const INTERFACE = { Ethernet0: { vrf_name: 'Vrf-blue' }, 'Ethernet0|192.0.2.1/31': {} };
  const VLAN_MEMBER = { 'Vlan7|Ethernet0': { tagging_mode: 'tagged' } };
  expect(readSonic({ INTERFACE })).toEqual([]);
  expect(readSonic({ INTERFACE, VLAN_MEMBER })).toEqual([7]);
  expect(readSonic({ VLAN_SUB_INTERFACE: { 'Ethernet0.10': { admin_status: 'up' } } })).toEqual([]);
  expect(readSonic({ INTERFACE, VLAN: { Vlan7: { members: ['Ethernet0'] } } })).toBeUndefined();
  expect(readSonic({ INTERFACE, MIRROR_SESSION: { a: { dst_port: 'Ethernet0' } } })).toBeUndefined();
});
