import { describe, expect, test } from 'vitest';
import type { SuccessCriteria } from '#conductor/model/site/site-run.ts';
import { describeMisses, judgeCriteria } from '#conductor/sites/strategy/success-criteria.ts';
import * as fc from '#test/fuzz/fast-check.ts';

describe('success criteria (seed 000)', () => {
  test.each<[string, SuccessCriteria | undefined, number, number, readonly string[]]>([
    ['none asked for', undefined, 4, 0, []],
    ['an empty mapping', {}, 4, 0, []],
    ['75: 3 of 4 must complete', { percent_successful_nodes: 75 }, 4, 3, []],
    ['2 of 3 are below 67', { percent_successful_nodes: 67 }, 3, 2, ['percent_successful_nodes']],
    ['57 of 100 are 57, whatever floating point makes of it', { percent_successful_nodes: 57 }, 100, 57, []],
    ['never attempted counts as failed', { maximum_failed_nodes: 1 }, 4, 2, ['maximum_failed_nodes']],
    ['0 failures allowed, 0 there', { maximum_failed_nodes: 0 }, 4, 4, []],
    ['no members: 100 %, no failures', { percent_successful_nodes: 100, maximum_failed_nodes: 0 }, 0, 0, []],
    ['no members: the minimum is missed', { minimum_successful_nodes: 1 }, 0, 0, ['minimum_successful_nodes']],
    ['no members, none asked for', { minimum_successful_nodes: 0 }, 0, 0, []],
    [
      'each for itself, in this order',
      { maximum_failed_nodes: 1, minimum_successful_nodes: 3, percent_successful_nodes: 90 },
      4,
      2,
      ['percent_successful_nodes', 'minimum_successful_nodes', 'maximum_failed_nodes'],
    ],
  ])('%s', (_, criteria, members, succeeded, expected) => {
    expect(judgeCriteria(criteria, { members, succeeded }).map(({ criterion }) => criterion)).toEqual(expected);
  });

  test('a miss says what was needed and what there is', () => {
    const tally = { members: 3, succeeded: 2 };
    const misses = judgeCriteria({ percent_successful_nodes: 90, maximum_failed_nodes: 0 }, tally);
    expect(misses).toEqual([
      { criterion: 'percent_successful_nodes', needed: 90, actual: 200 / 3 },
      { criterion: 'maximum_failed_nodes', needed: 0, actual: 1 },
    ]);
    expect(describeMisses(misses, tally)).toBe(
      '2 of 3 nodes succeeded; percent_successful_nodes asks for 90 %, there are 66.6 %; maximum_failed_nodes allows 0, there are 1',
    );
  });
});

test('one success more never makes a group miss what it met', () => {
  const criteria = fc.record(
    {
      percent_successful_nodes: fc.nat({ max: 100 }),
      minimum_successful_nodes: fc.nat({ max: 12 }),
      maximum_failed_nodes: fc.nat({ max: 12 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(criteria, fc.integer({ min: 1, max: 10 }), fc.nat({ max: 9 }), (asked, members, some) => {
      const succeeded = Math.min(some, members - 1);
      const before = judgeCriteria(asked, { members, succeeded }).map(({ criterion }) => criterion);
      const after = judgeCriteria(asked, { members, succeeded: succeeded + 1 }).map(({ criterion }) => criterion);
      expect(before).toEqual(expect.arrayContaining(after));
    }),
  );
});
