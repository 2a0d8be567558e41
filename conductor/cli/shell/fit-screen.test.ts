import { expect, test } from 'vitest';
import { fitScreen, printable } from '#conductor/cli/shell/screen.ts';
import { array, assert, integer, property, string } from '#test/fuzz/fast-check.ts';

const plan = (busy: number, length: number): string[] => [
  ...Array.from({ length }, (_, index) => `${index === busy ? '▶' : '·'} step ${index}`),
  'deploy: running',
];

test('what fits stays as it is', () => {
  const lines = plan(1, 3);
  expect(fitScreen(lines, { columns: 80, rows: 24 })).toEqual(lines);
});

test('of too many lines those around the step at work and the last are kept', () => {
  expect(fitScreen(plan(20, 40), { columns: 80, rows: 10 })).toEqual([
    '      (18 more above)',
    '· step 18',
    '· step 19',
    '▶ step 20',
    '· step 21',
    '· step 22',
    '· step 23',
    '      (16 more below)',
    'deploy: running',
  ]);
  expect(fitScreen(plan(0, 40), { columns: 80, rows: 8 })[0]).toBe('');
  expect(fitScreen(plan(39, 40), { columns: 80, rows: 4 })).toEqual(['· step 38', '▶ step 39', 'deploy: running']);
  expect(fitScreen(plan(39, 40), { columns: 80, rows: 1 })).toEqual(['deploy: running']);
});

test('too long lines are cut by columns, wide characters counted twice', () => {
  expect(fitScreen(['abcdefghij'], { columns: 6, rows: 9 })).toEqual(['abcd…']);
  expect(fitScreen(['错误错误'], { columns: 6, rows: 9 })).toEqual(['错误…']);
  expect(fitScreen(['abc'], { columns: 4, rows: 9 })).toEqual(['abc']);
});

test('what a machine says can move no cursor', () => {
  expect(fitScreen(['a\u001b[2Jb\nc\r\n  d\u0007'], { columns: 80, rows: 9 })).toEqual(['a\uFFFD[2Jb c d\uFFFD']);
});

test('whatever the size, it fits', () => {
  assert(
    property(
      array(string({ unit: 'binary' })),
      integer({ min: 1, max: 200 }),
      integer({ min: 1, max: 60 }),
      (lines, columns, rows) => {
        const shown = fitScreen(lines, { columns, rows });
        expect(shown.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
        for (const line of shown) {
          expect(line).not.toMatch(/\p{Cc}/u);
          expect(Array.from(new Intl.Segmenter().segment(line)).length).toBeLessThanOrEqual(columns);
        }
      },
    ),
  );
});

test.each(['\u202e', '\u202a', '\u2066', '\u2069', '\u200f', '\u061c', '\u001b'])(
  'no text turns another around: %j',
  (mark) => {
    expect(printable(`R640${mark}046R`)).toBe('R640\uFFFD046R');
  },
);

test('a joined emoji stays', () => {
  expect(printable('👩\u200d💻')).toBe('👩\u200d💻');
});
