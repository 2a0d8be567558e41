import { expect, test } from 'vitest';
import { allVlans, isolated, type PortVlans, portVlans } from '#conductor/model/port-vlans.ts';
import { isBond, type SwitchBond, sameBond } from '#conductor/model/switch-bond.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { bondAt, type SwitchPortSetting, type SwitchPortState } from '#conductor/networks/switch-driver.ts';
import { changeLines, wayBack } from '#conductor/networks/switches/command-line/change-lines.ts';
import type { BondRows } from '#conductor/networks/switches/command-line/switch-os.ts';
import { array, assert, boolean, constantFrom, option, property, record, subarray } from '#test/fuzz/fast-check.ts';

/** A system whose commands are the changes themselves. */
const join = (portIds: readonly string[], vlans: PortVlans) =>
  portIds.map((portId) => `${portId} joins ${JSON.stringify(vlans)}`);
const bonds: BondRows = {
  name: (number) => `bond${number}`,
  modes: ['lacp'],
  pairs: [],
  members: () => new Map(),
  make: ({ name }) => [`${name} made`],
  join: (portIds, { name }) => portIds.map((portId) => `${portId} enters ${name}`),
  leave: (portIds, name) => portIds.map((portId) => `${portId} exits ${name}`),
  remove: (name) => [`${name} removed`],
};
const plain = {
  isolate: (portIds: readonly string[]) => portIds.map((portId) => `${portId} leaves`),
  access: (portIds: readonly string[], vlan: number) => join(portIds, portVlans(vlan)),
  trunk: join,
  bonds,
};

/**
 * Models the effect of lines, on a system whose members keep what their bond has when they leave it, or have what is
 * their own.
 */
function createModel(found: readonly SwitchPortState[], keepsBonds: boolean) {
  const vlans = new Map<string, PortVlans>();
  const bondOf = new Map<string, string>();
  for (const { portId, vlans: its, bond: reading } of found) {
    const bond = isBond(reading) ? reading : undefined;
    vlans.set(bond ? `bond${bond.number}` : portId, its === 'other' ? isolated : its);
    if (bond) bondOf.set(portId, `bond${bond.number}`);
    if (bond) vlans.set(portId, isolated);
  }
  const of = (portId: string): PortVlans => vlans.get(bondOf.get(portId) ?? portId) ?? isolated;
  const run = (line: string): void => {
    const [name = '', verb, rest = ''] = line.split(' ');
    if (verb === 'leaves' || verb === 'made') vlans.set(name, isolated);
    else if (verb === 'joins') vlans.set(name, JSON.parse(rest) as PortVlans);
    else if (verb === 'enters') bondOf.set(name, rest);
    else if (verb === 'removed') {
      if ([...bondOf.values()].includes(name)) throw new Error(`${name} has members`);
    } else {
      if (keepsBonds) vlans.set(name, of(name));
      bondOf.delete(name);
    }
  };
  return { of, run, bondOf };
}

const vlan = option(constantFrom(100, 200, 300), { nil: undefined });
const places = record({ untagged: vlan, tagged: subarray([300, 400]), number: option(constantFrom(0, 100)) });
/** Racks of nodes with two ports each. */
const racks = array(record({ before: places, wanted: places, second: vlan }), { minLength: 1, maxLength: 20 });
const meet = (one: PortVlans, other: PortVlans): boolean =>
  allVlans(one).some((each) => allVlans(other).includes(each));

test('at no line two ports are in a VLAN together that neither the old nor the new state has them share', () => {
  assert(
    property(racks, boolean(), (nodes, keepsBonds) => {
      const settingsOf = (key: 'before' | 'wanted'): SwitchPortSetting[] =>
        nodes.flatMap((node, index) => {
          const { untagged, tagged, number } = node[key];
          const bond: SwitchBond | undefined =
            number === null ? undefined : { number: 100 + number + index, mode: 'lacp', acrossPair: false };
          const vlans = portVlans(untagged, tagged);
          const other = bond ? vlans : portVlans(node.second);
          return [
            { portId: `p${index}a`, vlans, bond },
            { portId: `p${index}b`, vlans: other, bond },
          ];
        });
      const [before, wanted] = [settingsOf('before'), settingsOf('wanted')];
      const [then, after] = [createModel(before, false), createModel(wanted, false)];
      const model = createModel(before, keepsBonds);
      const ports = before.map(({ portId }) => portId);
      for (const line of changeLines(plain, planSwitchports(wanted, before), before, true)) {
        model.run(line);
        for (const one of ports) {
          for (const other of ports) {
            if (one >= other || !meet(model.of(one), model.of(other))) continue;
            const shared = [then, after].some(({ of }) => meet(of(one), of(other)));
            expect(shared, `${one} and ${other} after ${line}`).toBe(true);
          }
        }
      }
      expect(ports.map(model.of)).toEqual(ports.map(after.of));
      expect(model.bondOf).toEqual(after.bondOf);
    }),
  );
});

test('the way back leads to what was, and to isolation where that is not known', () => {
  const bond: SwitchBond = { number: 7, mode: 'lacp', acrossPair: false };
  const settings = ['p1', 'p2', 'p3', 'p4', 'p5'].map((portId) => ({ portId, vlans: portVlans(100) }));
  const before: SwitchPortState[] = [
    { portId: 'p1', vlans: isolated },
    { portId: 'p2', vlans: portVlans(200, [300]) },
    { portId: 'p3', vlans: 'other' },
    { portId: 'p4', vlans: portVlans(200), bond },
    { portId: 'p5', vlans: portVlans(200), bond: { ...bond, mode: 'other' } },
  ];
  expect(wayBack(settings, before)).toEqual([
    { portId: 'p1', vlans: isolated },
    { portId: 'p3', vlans: isolated },
    { portId: 'p5', vlans: isolated },
    { portId: 'p2', vlans: portVlans(200, [300]) },
    { portId: 'p4', vlans: portVlans(200), bond },
  ]);
});

test('a bond that somebody else has a port in is left, and stays', () => {
  const bond: SwitchBond = { number: 7, mode: 'lacp', acrossPair: false };
  const found = ['p1', 'p2', 'p3'].map((portId) => ({ portId, vlans: portVlans(100), bond }));
  const settings = ['p1', 'p2'].map((portId) => ({ portId, vlans: isolated }));
  expect(changeLines(plain, settings, found, true)).toEqual([
    'p1 exits bond7',
    'p2 exits bond7',
    'p1 leaves',
    'p2 leaves',
  ]);
});

test('a port that was not read may be in a bond: no line is sent for it', () => {
  const settings = ['p1', 'p2'].map((portId) => ({ portId, vlans: isolated }));
  const send = (rows: Parameters<typeof changeLines>[0]) =>
    changeLines(rows, settings, [{ portId: 'p1', vlans: isolated }], true);
  expect(() => send(plain)).toThrow('ports p2 were not read: they may be in a bond');
  // a system that makes no bonds has none to leave
  const { bonds: _, ...withoutBonds } = plain;
  expect(send(withoutBonds)).toEqual(['p1 leaves', 'p2 leaves']);
});

test('a bond that is not known is the same as no other, nor as none', () => {
  const bond: SwitchBond = { number: 7, mode: 'lacp', acrossPair: false };
  expect(sameBond(bond, { ...bond })).toBe(true);
  expect(sameBond(undefined, 'none')).toBe(true);
  for (const other of [undefined, 'none', 'unknown', bond] as const) expect(sameBond('unknown', other)).toBe(false);
  const states = new Map([
    ['p1', { bond }],
    ['p2', {}],
    ['p3', { bond: 'unknown' as const }],
  ]);
  expect(['p1', 'p2', 'p3', 'p4'].map((portId) => bondAt(states, portId))).toEqual([
    bond,
    'none',
    'unknown',
    'unknown',
  ]);
});

test('many ports of one VLAN are few commands', () => {
  const settings = Array.from({ length: 48 }, (_, index) => ({ portId: `p${index}`, vlans: portVlans(100) }));
  const sizes: number[] = [];
  changeLines({ ...plain, access: (portIds) => [String(sizes.push(portIds.length))] }, settings, settings, false);
  expect(sizes).toEqual([16, 16, 16]);
});
