import { expect, test } from 'vitest';
import type { ShownFirmware } from '#conductor/drivers/interfaces.ts';
import { joinFirmware } from '#conductor/flows/bmc/firmware-store.ts';

const first = new Date('2026-01-01T00:00:00Z');
const later = new Date('2026-01-02T00:00:00Z');
const shown = (hidden: readonly string[], ...components: ShownFirmware['components']): ShownFirmware => ({
  components,
  fault: undefined,
  mayHide: (name) => hidden.includes(name),
});

test('a component that may be what can not be read stays as it was, one that is gone goes', () => {
  const all = ['bios', 'bmc', 'nic:1', 'nic:2'].map((component) => ({ component, version: '1' }));
  const before = joinFirmware([], shown([], ...all), { now: first, flashed: [] });
  const now = shown(['nic:1', 'bmc'], { component: 'bios', version: '2' }, { component: 'bmc', version: '2' });
  const after = joinFirmware(before, now, { now: later, flashed: ['bmc'] });
  expect(after.map((each) => [each.component, each.initial_version, each.current_version, each.updated_at])).toEqual([
    ['bios', '1', '2', later.toISOString()],
    ['bmc', '1', '2', later.toISOString()],
    ['nic:1', '1', '1', null],
  ]);
});
