import { expect, test } from 'vitest';
import { z } from 'zod';
import { boundedList } from '#shared/bounded-list.ts';

test('a list is refused by its length before anything is said of its members', () => {
  const looked: unknown[] = [];
  const member = z.unknown().refine((value) => looked.push(value) < 0, 'is wrong');
  const schema = z.strictObject({ steps: boundedList(z.array(member, { error: 'must be a list' }), 3).nullish() });
  const faults = (steps: unknown) =>
    schema.safeParse({ steps }).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  expect(faults([1, 2, 3, 4])).toEqual(['steps: has 4 members, and may have at most 3']);
  expect(looked).toEqual([]);
  expect(faults([1, 2])).toEqual(['steps.0: is wrong', 'steps.1: is wrong']);
  expect(faults('no list')).toEqual(['steps: must be a list']);
  expect([undefined, null, []].map(faults)).toEqual([undefined, undefined, undefined]);
});
