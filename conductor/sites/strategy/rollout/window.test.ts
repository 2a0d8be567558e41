import { expect, test } from 'vitest';
import type { RolloutWindow } from '#conductor/model/site/rollout.ts';
import { isOpen, nextOpening } from '#conductor/sites/strategy/rollout/window.ts';

const berlin: RolloutWindow = { from: '22:00', to: '04:00', zone: 'Europe/Berlin' };
const opensAt = (window: RolloutWindow, from: string): string => {
  const at = nextOpening(window, Date.parse(from));
  return at === undefined ? 'never' : new Date(at).toISOString();
};

test('the next opening of a window, by the clock of its zone', () => {
  expect(opensAt(berlin, '2026-11-30T12:00:30Z')).toBe('2026-11-30T21:00:00.000Z');
  expect(opensAt(berlin, '2026-11-30T23:30:00Z')).toBe('2026-11-30T23:30:00.000Z');
  expect(opensAt({ ...berlin, days: ['sat'] }, '2026-11-30T12:00:00Z')).toBe('2026-12-05T21:00:00.000Z');
  expect(opensAt({ ...berlin, days: [] }, '2026-11-30T12:00:00Z')).toBe('never');
});

test('on the days on which clocks are changed it is the first minute that is open', () => {
  const night: RolloutWindow = { from: '02:30', to: '04:00', zone: 'Europe/Berlin' };
  // 02:00 becomes 03:00, and 03:00 becomes 02:00
  for (const [from, opens] of [
    ['2026-03-29T00:10:00Z', '2026-03-29T01:00:00.000Z'],
    ['2026-10-24T22:10:00Z', '2026-10-25T00:30:00.000Z'],
  ] as const) {
    expect(opensAt(night, from)).toBe(opens);
    expect(isOpen(night, Date.parse(opens) - 60_000)).toBe(false);
  }
});
