import { array, assert, constantFrom, option, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { changeLines, wayBack } from '#conductor/networks/switches/command-line/change-lines.ts';

/** A system whose commands are the changes themselves. */
const plain = {
  isolate: (portIds: readonly string[]) => portIds.map((portId) => `${portId} leaves`),
  access: (portIds: readonly string[], vlan: number) => portIds.map((portId) => `${portId} joins ${vlan}`),
};

const vlan = option(constantFrom(100, 200, 300), { nil: undefined });
const racks = array(record({ before: vlan, wanted: vlan }), { minLength: 1, maxLength: 40 });

test('at no line two ports are in a VLAN together that neither the old nor the new state has them share', () => {
  assert(
    property(racks, (ports) => {
      const state = new Map<string, number | undefined>(ports.map(({ before }, index) => [`p${index}`, before]));
      const before = new Map(state);
      const wanted = ports.map((port, index) => ({ portId: `p${index}`, accessVlan: port.wanted }));
      const operations = planSwitchports(
        wanted,
        [...state].map(([portId, accessVlan]) => ({ portId, accessVlan })),
      );
      const inSome = new Set([...before].filter(([, now]) => now !== undefined).map(([portId]) => portId));
      const after = new Map(wanted.map(({ portId, accessVlan }) => [portId, accessVlan]));
      for (const line of changeLines(plain, operations, inSome)) {
        const [portId = '', , joined] = line.split(' ');
        state.set(portId, joined === undefined ? undefined : Number(joined));
        for (const [one, its] of state) {
          for (const [other, others] of state) {
            if (one >= other || its === undefined || its !== others) continue;
            const shared = [before, after].some((then) => then.get(one) === then.get(other));
            expect(shared, `${one} and ${other} after ${line}`).toBe(true);
          }
        }
      }
      expect(state).toEqual(after);
    }),
  );
});

test('the way back leads to what was, and to isolation where that is not known', () => {
  const operations = [
    { kind: 'set access VLAN', portId: 'p1', vlan: 100 },
    { kind: 'isolate', portId: 'p2' },
    { kind: 'set access VLAN', portId: 'p3', vlan: 100 },
  ] as const;
  const before = new Map([
    ['p1', undefined],
    ['p2', 200],
    ['p3', 0],
  ]);
  expect(wayBack(operations, before)).toEqual([
    { kind: 'isolate', portId: 'p1' },
    { kind: 'isolate', portId: 'p3' },
    { kind: 'set access VLAN', portId: 'p2', vlan: 200 },
  ]);
});

test('many ports of one VLAN are few commands', () => {
  const operations = Array.from({ length: 48 }, (_, index) => ({
    kind: 'set access VLAN' as const,
    portId: `p${index}`,
    vlan: 100,
  }));
  const sizes: number[] = [];
  changeLines({ ...plain, access: (portIds) => [String(sizes.push(portIds.length))] }, operations, new Set());
  expect(sizes).toEqual([16, 16, 16]);
});
