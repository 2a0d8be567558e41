import { expect, test } from 'vitest';
import { type FoundVlans, isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { vlansInUse } from '#conductor/networks/switches/command-line/vlans-in-use.ts';

const at = (ports: Readonly<Record<string, FoundVlans>>, count = false) => ({
  ports: new Map(Object.entries(ports)),
  uplinks: { patterns: ['eth{47-48}'], count },
  isPort: (name: string) => name.startsWith('eth') || name.startsWith('bond'),
});

test('VLANs of all ports but those that are set, and what these get', () => {
  const ports = { eth1: portVlans(100), eth2: portVlans(200, [300]), eth3: isolated };
  const settings = [
    { portId: 'eth1', vlans: isolated },
    { portId: 'eth3', vlans: portVlans(400) },
  ];
  expect(vlansInUse(at(ports), settings, [])).toEqual(new Set([400, 200, 300]));
});

test('uplinks and what carries no VLANs do not count', () => {
  const ports: Record<string, FoundVlans> = { eth1: portVlans(100), eth48: 'other', loopback0: 'other' };
  expect(vlansInUse(at(ports), [{ portId: 'eth1', vlans: isolated }], [])).toEqual(new Set());
});

test('uplinks count where a VLAN has to lose its members first', () => {
  const ports: Record<string, FoundVlans> = {
    eth1: portVlans(100),
    eth47: portVlans(undefined, [100]),
    eth48: 'other',
  };
  expect(vlansInUse(at(ports, true), [{ portId: 'eth1', vlans: isolated }], [])).toEqual(new Set([100]));
});

test('of a port that is set otherwise nobody knows its VLANs', () => {
  const ports: Record<string, FoundVlans> = { eth1: portVlans(100), eth2: 'other' };
  expect(vlansInUse(at(ports), [{ portId: 'eth1', vlans: isolated }], [])).toBe('unknown');
});

test('a bond goes with its last member, and stays with one that nobody moves', () => {
  const bond = { number: 7, mode: 'lacp', acrossPair: false } as const;
  const ports: Record<string, FoundVlans> = { eth1: 'other', eth2: 'other', bond7: portVlans(100) };
  const members = new Map(['eth1', 'eth2'].map((port) => [port, { name: 'bond7', ...bond }]));
  const found = ['eth1', 'eth2'].map((portId) => ({ portId, vlans: portVlans(100), bond }));
  const nameOf = (number: number): string => `bond${number}`;
  const both = found.map(({ portId }) => ({ portId, vlans: isolated }));
  expect(vlansInUse({ ...at(ports), members }, both, found, nameOf)).toEqual(new Set());
  expect(vlansInUse({ ...at(ports), members }, both.slice(0, 1), found, nameOf)).toEqual(new Set([100]));
});
