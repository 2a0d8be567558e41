import { expect, test } from 'vitest';
import { restAfter } from '#conductor/sites/actions/baremetal-nodes.ts';

test('looks at nodes take a tenth of the time, and no rest is longer than five seconds', () => {
  for (const tookMs of [20, 50, 100, 400, 550]) {
    expect(tookMs / (tookMs + restAfter({ tookMs, actedMs: 0 }))).toBeLessThanOrEqual(0.1);
  }
  // no stop waits for minutes; looks that take longer take more of the time
  expect(restAfter({ tookMs: 1_500, actedMs: 0 })).toBe(5_000);
  expect(restAfter({ tookMs: 30_000, actedMs: 0 })).toBe(5_000);
});

test('while something is done about nodes there is no look either: what is left over waits no longer for that', () => {
  expect(restAfter({ tookMs: 1_100, actedMs: 1_000 })).toBe(250);
  expect(restAfter({ tookMs: 400, actedMs: 100 })).toBe(2_600);
});

test('while nodes wait for their turn, a beat rests no longer than it has looked', () => {
  expect(restAfter({ tookMs: 2_600, actedMs: 2_000, isBehind: true })).toBe(600);
  expect(restAfter({ tookMs: 2_600, actedMs: 2_000, isBehind: false })).toBe(3_400);
  expect(restAfter({ tookMs: 4_100, actedMs: 4_000, isBehind: true })).toBe(1_000);
  expect(restAfter({ tookMs: 9_000, actedMs: 0, isBehind: true })).toBe(5_000);
});
