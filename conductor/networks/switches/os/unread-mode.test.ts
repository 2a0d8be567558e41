import { expect, test } from 'vitest';
import { readIosPorts, shownPorts } from '#conductor/networks/switches/os/ports/ios-xe-ports.ts';

const lines = ['switchport mode access', 'switchport access vlan 10'];

test.each([
  ['Operational Mode: down\n', 10],
  ['', 'other'],
])('a port shown with %j has its VLAN by its lines, or is not known', (mode, expected) => {
  const shown = shownPorts(
    `Name: Gi1/0/1\nSwitchport: Enabled\n${mode}Access Mode VLAN: 10 (ten)\nVoice VLAN: none\n`,
    (name) => name.replace('Gi', 'GigabitEthernet'),
  );
  const state = readIosPorts(new Map([['GigabitEthernet1/0/1', lines]]), shown, false, () => []).ports.get(
    'GigabitEthernet1/0/1',
  );
  expect(JSON.stringify(state)).toContain(String(expected));
});
