import { expect, test } from 'vitest';
import { table } from '#conductor/cli/print.ts';

test('columns of equal width; what is in them moves no cursor', () => {
  expect(
    table([
      ['a\u001b[2J', 'b'],
      ['longer name', 'c\nd'],
    ]),
  ).toBe('a\uFFFD[2J        b\nlonger name  c d\n');
});
