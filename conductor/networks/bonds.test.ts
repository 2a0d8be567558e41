import { expect, test } from 'vitest';
import { type BondedPort, bondFaults, bondOf, bondsAt } from '#conductor/networks/bonds.ts';

const leaf = (switchId: string) => ({ switchId, bonds: { 'Port-Channel5': ['Ethernet5', 'Ethernet6'], other: ['x'] } });
const at = (address: string, portId: string, portgroupUuid: string | null = 'g', switchId = 'leaf1'): BondedPort => ({
  port: { address, portgroupUuid },
  switchEntry: leaf(switchId),
  portId,
});

test('a member is at its bond, everything else at itself', () => {
  expect(bondOf(leaf('leaf1'), 'Ethernet6')).toBe('Port-Channel5');
  expect(bondOf(leaf('leaf1'), 'Ethernet7')).toBeUndefined();
  expect(bondOf(leaf('leaf1'), 'Port-Channel5')).toBeUndefined();
  expect(bondOf({}, 'Ethernet5')).toBeUndefined();
});

test('a bond is named once, with its members', () => {
  const bond = { switchId: 'leaf1', bond: 'Port-Channel5', members: ['Ethernet5', 'Ethernet6'] };
  expect(bondsAt([at('a', 'Port-Channel5'), at('b', 'Port-Channel5'), at('c', 'Ethernet7')])).toEqual([bond]);
});

test('one group at one bond, at one of each switch of a pair, and a port alone are right', () => {
  expect(bondFaults([at('a', 'Port-Channel5'), at('b', 'Port-Channel5'), at('c', 'Ethernet7', null)])).toEqual([]);
  expect(bondFaults([at('a', 'Port-Channel5'), at('b', 'Port-Channel5', 'g', 'leaf2')])).toEqual([]);
  expect(bondFaults([at('a', 'Port-Channel5', null)])).toEqual([]);
  expect(bondFaults([at('a', 'Ethernet7'), at('b', 'Ethernet8')])).toEqual([]);
});

test('what does not fit is said', () => {
  expect(bondFaults([at('a', 'Port-Channel5', null), at('b', 'Port-Channel5', null)])).toEqual([
    'ports a, b are at bond Port-Channel5 of one switch: put them into one port group, and no other port with them',
  ]);
  expect(bondFaults([at('a', 'Port-Channel5', 'g'), at('b', 'Port-Channel5', 'h')])).toHaveLength(1);
  expect(bondFaults([at('a', 'Port-Channel5'), at('b', 'Ethernet7')])).toEqual([
    'port group g: ports a are at a bond of their switch, and b are not: name them in bonds of the networks file, or take ' +
      'them out of the group',
  ]);
  expect(bondFaults([at('a', 'Port-Channel5'), at('b', 'other')])).toEqual([
    'port group g: ports a, b are at different bonds of one switch (Port-Channel5, other)',
  ]);
});
