import { expect, test } from 'vitest';
import {
  allVlans,
  describeVlans,
  isIsolated,
  isolated,
  portVlans,
  sameVlans,
  vlanList,
  vlansIn,
} from '#conductor/model/port-vlans.ts';
import { assert, integer, property, uniqueArray } from '#test/fuzz/fast-check.ts';

const vlans = uniqueArray(integer({ min: 1, max: 4094 }), { maxLength: 20 });

test('a list is read as it was written, as short as can be', () => {
  expect(vlanList([22, 10, 20, 21])).toBe('10,20-22');
  expect(vlansIn('10,20-22')).toEqual([10, 20, 21, 22]);
  for (const none of ['', 'all', 'none', '9-5', '-', '1-', '10000']) expect(vlansIn(none)).toEqual([]);
  assert(
    property(vlans, (some) => {
      expect(vlansIn(vlanList(some))).toEqual(some.toSorted((a, b) => a - b));
    }),
  );
});

test('VLANs are the same in whatever order they come, and the untagged one is not tagged', () => {
  expect(portVlans(5, [7, 5, 6, 7])).toEqual({ untagged: 5, tagged: [6, 7] });
  expect(sameVlans(portVlans(5, [7, 6]), portVlans(5, [6, 7]))).toBe(true);
  expect(sameVlans(portVlans(5), portVlans(undefined, [5]))).toBe(false);
  expect(sameVlans('other', isolated)).toBe(false);
  expect([isIsolated(isolated), isIsolated('other'), isIsolated(portVlans(1))]).toEqual([true, false, false]);
  expect(allVlans(portVlans(9, [1]))).toEqual([9, 1]);
});

test('they are described in words', () => {
  const all = [isolated, portVlans(100), portVlans(100, [200, 201]), portVlans(undefined, [7]), 'other'] as const;
  expect(all.map(describeVlans)).toEqual([
    'isolated',
    'VLAN 100',
    'VLAN 100 with tagged 200-201',
    'tagged 7',
    'other settings',
  ]);
});
