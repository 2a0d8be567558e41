import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import type { SwitchPortOperation, SwitchPortState } from '#conductor/networks/switch-driver.ts';

const portId = fc.constantFrom('p1', 'p2', 'p3', 'p4', 'p5');
const wantedVlan = fc.option(fc.integer({ min: 1, max: 4094 }), { nil: undefined });
const actualVlan = fc.option(fc.integer({ min: 0, max: 4094 }), { nil: undefined });
const states = (vlan: fc.Arbitrary<number | undefined>): fc.Arbitrary<SwitchPortState[]> =>
  fc.uniqueArray(fc.record({ portId, accessVlan: vlan }), { selector: (port) => port.portId });

function applied(actual: readonly SwitchPortState[], operations: readonly SwitchPortOperation[]): SwitchPortState[] {
  const ports = new Map(actual.map((port) => [port.portId, port.accessVlan]));
  for (const operation of operations) {
    ports.set(operation.portId, operation.kind === 'isolate' ? undefined : operation.vlan);
  }
  return [...ports].map(([portId, accessVlan]) => ({ portId, accessVlan }));
}

describe('planSwitchports', () => {
  test('moves a port with one operation, and leaves a port that stands right alone', () => {
    expect(
      planSwitchports(
        [
          { portId: 'a', accessVlan: 200 },
          { portId: 'b', accessVlan: 100 },
        ],
        [
          { portId: 'a', accessVlan: 100 },
          { portId: 'b', accessVlan: 100 },
        ],
      ),
    ).toEqual([{ kind: 'set access VLAN', portId: 'a', vlan: 200 }]);
  });

  test('isolates before it connects', () => {
    const kinds = planSwitchports(
      [
        { portId: 'a', accessVlan: 200 },
        { portId: 'b', accessVlan: undefined },
      ],
      [{ portId: 'b', accessVlan: 200 }],
    ).map((operation) => `${operation.kind} ${operation.portId}`);
    expect(kinds).toEqual(['isolate b', 'set access VLAN a']);
  });

  test('isolates a port that carries traffic outside every known network', () => {
    expect(planSwitchports([{ portId: 'a', accessVlan: undefined }], [{ portId: 'a', accessVlan: 0 }])).toEqual([
      { kind: 'isolate', portId: 'a' },
    ]);
  });

  test('sets a port of unknown standing', () => {
    expect(planSwitchports([{ portId: 'a', accessVlan: undefined }], [])).toEqual([{ kind: 'isolate', portId: 'a' }]);
  });

  test('takes a repeated request once, and refuses two for one port', () => {
    const request = { portId: 'a', accessVlan: 100 };
    expect(planSwitchports([request, request], [])).toHaveLength(1);
    expect(() => planSwitchports([request, { portId: 'a', accessVlan: undefined }], [])).toThrow(
      'switch port a is wanted in two places: 100 and isolated',
    );
  });

  test('always reaches what is desired, touches each wrong port once and no other, and is then idle', () => {
    fc.assert(
      fc.property(states(wantedVlan), states(actualVlan), (desired, actual) => {
        const operations = planSwitchports(desired, actual);
        const result = applied(actual, operations);
        const vlans = new Map(result.map((port) => [port.portId, port.accessVlan]));
        for (const port of desired) expect(vlans.get(port.portId)).toBe(port.accessVlan);
        const before = new Map(actual.map((port) => [port.portId, port]));
        const wrong = desired.filter((port) => {
          const now = before.get(port.portId);
          return now === undefined || now.accessVlan !== port.accessVlan;
        });
        expect(operations.map((operation) => operation.portId).sort()).toEqual(wrong.map((port) => port.portId).sort());
        const firstSet = operations.findIndex((operation) => operation.kind === 'set access VLAN');
        const afterFirstSet = firstSet === -1 ? [] : operations.slice(firstSet);
        expect(afterFirstSet.some((operation) => operation.kind === 'isolate')).toBe(false);
        expect(planSwitchports(desired, result)).toEqual([]);
      }),
    );
  });
});
