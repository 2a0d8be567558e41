import { array, assert, constantFrom, option, property, record, subarray } from 'fast-check';
import { expect, test } from 'vitest';
import {
  allVlans,
  type FoundVlans,
  isIsolated,
  isolated,
  type PortVlans,
  portVlans,
} from '#conductor/model/port-vlans.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { changeLines, wayBack } from '#conductor/networks/switches/command-line/change-lines.ts';

/** A system whose commands are the changes themselves. */
const join = (portIds: readonly string[], vlans: PortVlans) =>
  portIds.map((portId) => `${portId} joins ${JSON.stringify(vlans)}`);
const plain = {
  isolate: (portIds: readonly string[]) => portIds.map((portId) => `${portId} leaves`),
  access: (portIds: readonly string[], vlan: number) => join(portIds, portVlans(vlan)),
  trunk: join,
};

const vlan = option(constantFrom(100, 200, 300), { nil: undefined });
const setting = record({ vlan, tagged: subarray([300, 400]) }).map(({ vlan: untagged, tagged }) =>
  portVlans(untagged, tagged),
);
const racks = array(record({ before: setting, wanted: setting }), { minLength: 1, maxLength: 40 });
const meet = (one: PortVlans | undefined, other: PortVlans | undefined): boolean =>
  allVlans(one ?? isolated).some((each) => allVlans(other ?? isolated).includes(each));

test('at no line two ports are in a VLAN together that neither the old nor the new state has them share', () => {
  assert(
    property(racks, (ports) => {
      const state = new Map(ports.map(({ before }, index) => [`p${index}`, before]));
      const before = new Map(state);
      const wanted = ports.map((port, index) => ({ portId: `p${index}`, vlans: port.wanted }));
      const settings = planSwitchports(
        wanted,
        [...state].map(([portId, vlans]) => ({ portId, vlans })),
      );
      const inSome = new Set([...before].filter(([, now]) => !isIsolated(now)).map(([portId]) => portId));
      const after = new Map(wanted.map(({ portId, vlans }) => [portId, vlans]));
      for (const line of changeLines(plain, settings, inSome)) {
        const [portId = '', , joined] = line.split(' ');
        state.set(portId, joined === undefined ? isolated : (JSON.parse(joined) as PortVlans));
        for (const [one, its] of state) {
          for (const [other, others] of state) {
            if (one >= other || !meet(its, others)) continue;
            const shared = [before, after].some((then) => meet(then.get(one), then.get(other)));
            expect(shared, `${one} and ${other} after ${line}`).toBe(true);
          }
        }
      }
      expect(state).toEqual(after);
    }),
  );
});

test('the way back leads to what was, and to isolation where that is not known', () => {
  const settings = [
    { portId: 'p1', vlans: portVlans(100) },
    { portId: 'p2', vlans: isolated },
    { portId: 'p3', vlans: portVlans(100) },
  ];
  const before = new Map<string, FoundVlans>([
    ['p1', isolated],
    ['p2', portVlans(200, [300])],
    ['p3', 'other'],
  ]);
  expect(wayBack(settings, before)).toEqual([
    { portId: 'p1', vlans: isolated },
    { portId: 'p3', vlans: isolated },
    { portId: 'p2', vlans: portVlans(200, [300]) },
  ]);
});

test('many ports of one VLAN are few commands', () => {
  const settings = Array.from({ length: 48 }, (_, index) => ({ portId: `p${index}`, vlans: portVlans(100) }));
  const sizes: number[] = [];
  changeLines({ ...plain, access: (portIds) => [String(sizes.push(portIds.length))] }, settings, new Set());
  expect(sizes).toEqual([16, 16, 16]);
});
