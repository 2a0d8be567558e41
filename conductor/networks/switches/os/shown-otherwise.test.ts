import { expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { shownTrunkList, trunkAsShown } from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';

/** Ports whose lines say less than the switch shows of them: a profile, a login or another switch gives them more. */

const trunkOf = (list: string): string[] => [`switchport trunk allowed vlan ${list}`, 'switchport mode trunk'];

function readIos(list: string, shown: string, ...more: readonly string[]): unknown {
  const lines = [...trunkOf(list), ...more].map((line) => ` ${line}`);
  const config = ['interface GigabitEthernet1/0/1', ...lines, 'end'].join('\n');
  const switchports = `Name: Gi1/0/1\nSwitchport: Enabled\nOperational Mode: trunk\nVoice VLAN: none\n${shown}\n`;
  return iosXe.read.parse([config, '1 default active', switchports]).ports.get('GigabitEthernet1/0/1');
}

function readNxos(list: string, shown: string, ...more: readonly string[]): unknown {
  const lines = [...trunkOf(list), ...more].map((line) => `  ${line}`);
  const config = ['interface Ethernet1/1', ...lines, 'interface mgmt0', '  vrf member management'].join('\n');
  const switchports = `Name: Ethernet1/1\n  Switchport: Enabled\n  Operational Mode: trunk\n  Access Mode VLAN: 1 (default)\n${shown}\n`;
  return nxos.read.parse([config, switchports, '1 default active']).ports.get('Ethernet1/1');
}

test.each([
  ['ios-xe', readIos, 'Trunking VLANs Enabled: '],
  ['nxos', readNxos, '  Trunking VLANs Allowed: '],
])('%s: a trunk has the VLANs of its lines where the switch shows the same', (_, read, field) => {
  expect(read('none', `${field}none`)).toEqual(portVlans(undefined));
  expect(read('none', `${field}NONE`)).toEqual(portVlans(undefined));
  expect(read('10,20-22', `${field}10,20-22`)).toEqual(portVlans(undefined, [10, 20, 21, 22]));
  expect(read('10,100', `${field}10,100`, 'switchport trunk native vlan 100')).toEqual(portVlans(100, [10]));
  expect(read('10,20-22', `${field}10,\n     20-22\nPruning VLANs Enabled: 2-1001`)).toEqual(
    portVlans(undefined, [10, 20, 21, 22]),
  );
});

test.each([
  ['ios-xe', readIos, 'Trunking VLANs Enabled: '],
  ['nxos', readNxos, '  Trunking VLANs Allowed: '],
])('%s: a trunk that is shown with other VLANs, or with none that is read, is not known', (_, read, field) => {
  for (const shown of ['10', 'ALL', '1-4094', '10 (blocked)', 'none,10', ''])
    expect([shown, read('none', `${field}${shown}`)]).toEqual([shown, 'other']);
  expect(read('none', '')).toBe('other');
  for (const shown of ['10', '10,20-23', '10,20-22,', 'none', 'ALL'])
    expect([shown, read('10,20-22', `${field}${shown}`)]).toEqual([shown, 'other']);
});

test('a list goes on in lines of numbers alone', () => {
  expect(shownTrunkList('Trunking VLANs Enabled: 10,\n     20\n     ,30\nPruning VLANs Enabled: 2-1001\n')).toBe(
    '10,20,30',
  );
  expect(shownTrunkList('Trunking VLANs Enabled: 10\n  20 others\n')).not.toBe('10');
  expect(trunkAsShown('other', 'none')).toBe('other');
});

function readEos(fields: object, lines = trunkOf('none')): unknown {
  const switchportInfo = { mode: 'trunk', trunkingNativeVlanId: 1, trunkAllowedVlans: 'NONE', ...fields };
  const section = { cmds: Object.fromEntries(lines.map((line) => [line, null])) };
  return eos.read
    .parse([
      JSON.stringify({ switchports: { Ethernet1: { enabled: true, switchportInfo } } }),
      '{"vlans":{"1":{}}}',
      JSON.stringify({ cmds: { 'interface Ethernet1': section } }),
    ])
    .ports.get('Ethernet1');
}

test.each([
  { staticTrunkGroups: [], dynamicTrunkGroups: [], dynamicAllowedVlans: {}, dynamicBlockedVlans: {} },
  { tpid: '0x8100', tpidStatus: true, macLearning: true, sourceportFilterMode: 'enabled', accessVlanName: 'default' },
  { phoneTrunk: false, phoneVlan: 0, mbvaEnabled: false, somethingNew: false },
])('eos: %j says nothing of a port’s networks', (fields) => {
  expect(readEos(fields)).toEqual(portVlans(undefined));
});

test.each([
  { dynamicTrunkGroups: ['blue'] },
  { staticTrunkGroups: ['blue'] },
  { dynamicAllowedVlans: { evpn: '10' } },
  { dynamicAllowedVlans: '10' },
  { phoneTrunk: true },
  { mbvaEnabled: true },
  { somethingNew: 'on' },
  { trunkAllowedVlans: '' },
])('eos: with %j nobody knows the port’s networks', (fields) => {
  expect(readEos(fields)).toBe('other');
});
