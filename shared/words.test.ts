import { expect, test } from 'vitest';
import { counted } from '#shared/words.ts';

test('one is counted as one', () => {
  expect([0, 1, 2].map((count) => counted(count, 'network card'))).toEqual([
    '0 network cards',
    '1 network card',
    '2 network cards',
  ]);
});
