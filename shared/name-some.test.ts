import { expect, test } from 'vitest';
import { nameSome } from '#shared/words.ts';

test.each([
  [[], ''],
  [['a'], 'a'],
  [['a', 'b'], 'a, b'],
  [['a', 'b', 'c'], 'a, b and 1 more'],
])('of %j two at the most', (names, reported) => {
  expect(nameSome(names, 2)).toBe(reported);
});
