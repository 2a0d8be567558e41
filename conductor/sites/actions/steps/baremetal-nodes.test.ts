import { expect, test } from 'vitest';
import { restAfter } from '#conductor/sites/actions/steps/baremetal-nodes.ts';

test('a look rests for some times as long as it took, work for a part of it, and nothing for longer than a period', () => {
  expect([1, 30, 50, 400, 1000, 4000].map((took) => restAfter(took, 500))).toEqual([50, 90, 150, 150, 250, 500]);
  expect(restAfter(100, 20)).toBe(20);
});
