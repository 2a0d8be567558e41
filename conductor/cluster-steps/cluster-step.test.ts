import { expect, test } from 'vitest';
import { soonThenEvery } from '#conductor/cluster-steps/cluster-step.ts';

test('looks are soon after each other at first, and at the limit from twice its time on', () => {
  const every = soonThenEvery(2);
  expect([0, 0.3, 1, 3, 4, 600].map((sinceStart) => every(undefined, sinceStart))).toEqual([0.2, 0.2, 0.5, 1.5, 2, 2]);
});
