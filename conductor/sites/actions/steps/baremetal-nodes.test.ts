import { expect, test } from 'vitest';
import { restAfter } from '#conductor/sites/actions/steps/baremetal-nodes.ts';

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
