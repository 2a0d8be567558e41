import { expect, test } from 'vitest';
import { mayBeListed, mirrorLines } from '#conductor/networks/switches/command-line/lines/port-lists.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';

test.each([
  ['Ethernet1-4', 'Ethernet3', true],
  ['Ethernet1-4', 'Ethernet5', false],
  ['Ethernet1-4', 'Ethernet3/1', false],
  ['Ethernet1,3/1-4', 'Ethernet3/2', true],
  ['Ethernet1,3/1-4', 'Ethernet1', true],
  ['Ethernet1,3/1-4', 'Ethernet3', false],
  ['Ethernet1, Port-Channel7', 'Port-Channel7', true],
  ['Ethernet1/3, Ethernet1/5-7', 'Ethernet1/6', true],
  ['Ethernet1/1/1-1/1/4', 'Ethernet1/1/3', true],
  ['Gi1/0/1 - 4 , Gi1/0/7', 'GigabitEthernet1/0/7', true],
  ['Gi1/0/1 - 4 , Gi1/0/7', 'GigabitEthernet1/0/5', false],
  ['Gi1/0/1 - Gi1/0/4', 'GigabitEthernet1/0/4', true],
  ['GigabitEthernet 1/0/1', 'GigabitEthernet1/0/1', true],
  ['FH1/0/1', 'FourHundredGigE1/0/1', true],
  ['Te1/0/1', 'TenGigabitEthernet1/0/11', false],
  ['Po7', 'Port-channel7', true],
  // forms that are not known may mean any
  ['Zz1/0/1', 'GigabitEthernet1/0/1', true],
  ['Gi1/0/1 - 2/0/4', 'GigabitEthernet1/0/9', true],
  ['Ethernet1-4/1', 'Ethernet2/1', true],
  ['7', 'Ethernet1', true],
  ['', 'Ethernet1', true],
])('%s, %s: %s', (list, portId, may) => {
  const longName = portId.startsWith('Ethernet') || list.includes('Port-Channel') ? undefined : iosXe.portName;
  expect(mayBeListed(list, portId, longName)).toBe(may);
});

test.each([
  'monitor session 1 source interface Gi1/0/1',
  'monitor session 1 destination remote vlan 900',
  'monitor session tap destination cpu',
  'monitor session tap destination tunnel mode gre source 192.0.2.1 destination 192.0.2.2',
])('%s is no destination', (line) => expect(mirrorLines([line], 'GigabitEthernet1/0/1')).toEqual([]));
