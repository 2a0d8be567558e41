import { expect, test } from 'vitest';
import { createEscapeFilter } from '#conductor/cli/console.ts';

test.each([
  [['ls\r'], 'ls\r', false],
  [['~.'], '', true],
  [['ls\r~.rest'], 'ls\r', true],
  [['ls\r', '~', '.'], 'ls\r', true],
  [['~~.'], '~.', false],
  [['~', '~'], '~', false],
  [['~x'], '~x', false],
  [['~\r~.'], '~\r', true],
  [['cd ~.\r'], 'cd ~.\r', false],
  [['a\n~.'], 'a\n', true],
])('%j sends %j, leaves: %s', (typed, sent, leaves) => {
  const filter = createEscapeFilter();
  const results = typed.map((text) => filter(Buffer.from(text)));
  expect(Buffer.concat(results.map(({ bytes }) => bytes)).toString()).toBe(sent);
  expect(results.at(-1)?.isLeaving).toBe(leaves);
});
