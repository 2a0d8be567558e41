import { describe, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import type { Network, SwitchEntry } from '#conductor/networks/networks-file.ts';
import { chooseBondNumber, placeBonds } from '#conductor/networks/place-bonds.ts';

const blue: Network = { name: 'blue', vlans: portVlans(200) };
const green: Network = { name: 'green', vlans: portVlans(300) };
const numbers = { bondNumbers: { from: 101, to: 102 }, bondModes: ['lacp'] as const };
const leaf = (switchId: string, more: Partial<SwitchEntry> = numbers): SwitchEntry => ({
  switchId,
  driver: 'ovs',
  endpoint: 'unix:/db',
  ...more,
});
const one = leaf('Leaf1', { ...numbers, pair: 'leaf2' });
const two = leaf('leaf2', { ...numbers, pair: 'leaf1' });
const lacpPair = (pair: string): Partial<SwitchEntry> => ({
  ...numbers,
  bondModes: ['lacp', 'static'],
  pairedBondModes: ['lacp'],
  pair,
});
const at = (uuid: string, switchEntry: SwitchEntry, network: Network | undefined = blue, portgroupUuid = 'g') => ({
  port: {
    uuid,
    address: uuid,
    pxeEnabled: true,
    portgroupUuid,
    physicalNetwork: null,
    localLinkConnection: {},
  },
  switchEntry,
  portId: `p${uuid}`,
  network,
});
const group = (mode: string, bondNumber: number | null = 101) => [{ uuid: 'g', mode, bondNumber }];
const bonded = (moves: Parameters<typeof placeBonds>[0], groups = group('4')) =>
  Object.fromEntries(placeBonds(moves, groups).bonds);

describe('placeBonds', () => {
  test('bonds a group at one switch, and at a pair, by its mode', () => {
    const lacp = { number: 101, mode: 'lacp', acrossPair: false };
    expect(bonded([at('a', one), at('b', one), at('c', one, blue, 'other')])).toEqual({ a: lacp, b: lacp });
    const half = { ...lacp, acrossPair: true };
    expect(bonded([at('a', one), at('b', two)])).toEqual({ a: half, b: half });
    const both = leaf('x', { ...numbers, bondModes: ['lacp', 'static'] });
    expect(bonded([at('a', both), at('b', both)], group('balance-rr'))).toMatchObject({ a: { mode: 'static' } });
  });

  test.each([
    ['a mode of the host alone', [at('a', one), at('b', leaf('y'))], group('active-backup')],
    ['one port', [at('a', one)], group('802.3ad')],
    ['ports on two networks', [at('a', one), at('b', one, green)], group('802.3ad')],
    [
      'ports on none',
      [
        { ...at('a', one), network: undefined },
        { ...at('b', one), network: undefined },
      ],
      group('4'),
    ],
    ['switches without numbers', [at('a', leaf('x', {})), at('b', leaf('y', {}))], group('802.3ad')],
    [
      "an operator's bond",
      [at('a', leaf('x', { ...numbers, bonds: { pa: [] } })), at('b', leaf('x', numbers))],
      group('4'),
    ],
  ])('leaves plain: %s', (_name, moves, groups) => {
    const { bonds, faults } = placeBonds(moves, groups);
    expect([bonds.size, faults]).toEqual([0, []]);
  });

  test.each([
    [
      'switches that are not a pair',
      [at('a', one), at('b', leaf('leaf3'))],
      group('4'),
      'Leaf1, leaf3, which are not a pair',
    ],
    [
      'three switches',
      [at('a', one), at('b', two), at('c', leaf('z'))],
      group('4'),
      'Leaf1, leaf2, z, which are not a pair',
    ],
    [
      'a mode that the driver lacks',
      [at('a', one), at('b', one)],
      group('balance-xor'),
      'give the group mode 802.3ad, or',
    ],
    [
      'a mode that the driver lacks across a pair',
      [at('a', leaf('Leaf1', lacpPair('leaf2'))), at('b', leaf('leaf2', lacpPair('leaf1')))],
      group('balance-xor'),
      'driver ovs of switch Leaf1 makes no such bond with its pair; give the group mode 802.3ad, or active-backup',
    ],
    ['no number left', [at('a', one), at('b', one)], group('4', null), 'no bond number left of 101-102'],
  ])('refuses %s', (_name, moves, groups, says) => {
    expect(placeBonds(moves, groups).faults).toEqual([expect.stringContaining(says)]);
  });
});

test('a group keeps its number while it may, and else gets the lowest that is free', () => {
  const range = { from: 101, to: 103 };
  expect(chooseBondNumber(range, new Set([101]), 103)).toBe(103);
  expect(chooseBondNumber(range, new Set([101]), null)).toBe(102);
  expect(chooseBondNumber(range, new Set([101]), 101)).toBe(102);
  expect(chooseBondNumber(range, new Set(), 99)).toBe(101);
  expect(chooseBondNumber(range, new Set([101, 102, 103]), null)).toBeNull();
});
