import { describe, expect, test } from 'vitest';
import { type FoundVlans, isIsolated, isolated, portVlans, sameVlans } from '#conductor/model/port-vlans.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type { SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const portId = fc.constantFrom('p1', 'p2', 'p3', 'p4', 'p5');
const vlan = fc.integer({ min: 1, max: 4094 });
const wanted = fc
  .record({ untagged: fc.option(vlan, { nil: undefined }), tagged: fc.array(vlan, { maxLength: 3 }) })
  .map(({ untagged, tagged }) => portVlans(untagged, tagged));
const found: fc.Arbitrary<FoundVlans> = fc.oneof(wanted, fc.constant('other' as const));
const states = <Vlans>(vlans: fc.Arbitrary<Vlans>) =>
  fc.uniqueArray(fc.record({ portId, vlans }), { selector: (port) => port.portId });

function applied(actual: readonly SwitchPortState[], settings: readonly SwitchPortSetting[]): SwitchPortState[] {
  const ports = new Map(actual.map((port) => [port.portId, port.vlans]));
  for (const setting of settings) ports.set(setting.portId, setting.vlans);
  return [...ports].map(([id, vlans]) => ({ portId: id, vlans }));
}

describe('planSwitchports', () => {
  test('moves a port with one operation, and leaves a port that is right alone', () => {
    expect(
      planSwitchports(
        [
          { portId: 'a', vlans: portVlans(200) },
          { portId: 'b', vlans: portVlans(100) },
        ],
        [
          { portId: 'a', vlans: portVlans(100) },
          { portId: 'b', vlans: portVlans(100) },
        ],
      ),
    ).toEqual([{ portId: 'a', vlans: portVlans(200) }]);
  });

  test('isolates before it connects', () => {
    const order = planSwitchports(
      [
        { portId: 'a', vlans: portVlans(200) },
        { portId: 'b', vlans: isolated },
      ],
      [{ portId: 'b', vlans: portVlans(200) }],
    ).map((setting) => setting.portId);
    expect(order).toEqual(['b', 'a']);
  });

  test('isolates a port that carries traffic outside every known network', () => {
    expect(planSwitchports([{ portId: 'a', vlans: isolated }], [{ portId: 'a', vlans: 'other' }])).toEqual([
      { portId: 'a', vlans: isolated },
    ]);
  });

  test('sets a port that was not read', () => {
    expect(planSwitchports([{ portId: 'a', vlans: isolated }], [])).toEqual([{ portId: 'a', vlans: isolated }]);
  });

  test('takes a repeated request once, and refuses two for one port', () => {
    const request = { portId: 'a', vlans: portVlans(100) };
    expect(planSwitchports([request, request], [])).toHaveLength(1);
    expect(() => planSwitchports([request, { portId: 'a', vlans: isolated }], [])).toThrow(
      'switch port a is wanted in two places: VLAN 100 and isolated',
    );
  });

  test('always reaches what is desired, touches each wrong port once and no other, and is then idle', () => {
    fc.assert(
      fc.property(states(wanted), states(found), (desired, actual) => {
        const settings = planSwitchports(desired, actual);
        const result = applied(actual, settings);
        const now = new Map(result.map((port) => [port.portId, port.vlans]));
        for (const port of desired) expect(now.get(port.portId)).toEqual(port.vlans);
        const before = new Map(actual.map((port) => [port.portId, port.vlans]));
        const wrong = desired.filter((port) => !sameVlans(before.get(port.portId), port.vlans));
        expect(settings.map((setting) => setting.portId).sort()).toEqual(wrong.map((port) => port.portId).sort());
        const firstJoin = settings.findIndex((setting) => !isIsolated(setting.vlans));
        const afterFirstJoin = firstJoin === -1 ? [] : settings.slice(firstJoin);
        expect(afterFirstJoin.some((setting) => isIsolated(setting.vlans))).toBe(false);
        expect(planSwitchports(desired, result)).toEqual([]);
      }),
    );
  });
});
