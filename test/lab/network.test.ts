import { expect, test } from 'vitest';
import { parseAddressTable } from '#test/lab/network.ts';

test('the address table of ovs-appctl', () => {
  const text =
    ' port  VLAN  MAC                Age\nLOCAL     0  7a:42:5f:1b:ad:4f   12\n    3   200  52:54:00:aa:00:01    0\n';
  expect(parseAddressTable(text)).toEqual([
    { mac: '7a:42:5f:1b:ad:4f', vlan: 0 },
    { mac: '52:54:00:aa:00:01', vlan: 200 },
  ]);
  expect(parseAddressTable('')).toEqual([]);
});
