import { expect, test } from 'vitest';
import { table, tableFor } from '#conductor/cli/shell/print.ts';

test('columns of equal width; what is in them moves no cursor', () => {
  expect(
    table([
      ['a\u001b[2J', 'b'],
      ['longer name', 'c\nd'],
    ]),
  ).toBe('a\uFFFD[2J        b\nlonger name  c d\n');
});

test('where a terminal is too narrow, the last column stands below its row', () => {
  const rows = [
    ['name', 'why'],
    ['n1', 'x'.repeat(20)],
    ['n2', ''],
  ];
  const on = (columns: number, isTerminal = true) => tableFor({ isTerminal, size: () => ({ columns, rows: 9 }) }, rows);
  expect(on(20)).toBe(`name\nn1\n    ${'x'.repeat(20)}\nn2\n`);
  expect(on(26)).toBe(table(rows));
  expect(on(20, false)).toBe(table(rows));
});
