import { expect, test } from 'vitest';
import { plainRows, rowsInView } from '#conductor/board/page/show-window.ts';

const view = (past: number) => ({ past, height: 600, rowPixels: 30 });

test('few rows are all laid out', () => {
  expect(rowsInView(0, view(0))).toEqual({ first: 0, end: 0 });
  expect(rowsInView(plainRows, view(4000))).toEqual({ first: 0, end: plainRows });
});

test('of many rows, those in view and four beside them', () => {
  expect(rowsInView(10_000, view(0))).toEqual({ first: 0, end: 25 });
  expect(rowsInView(10_000, view(30_000))).toEqual({ first: 995, end: 1025 });
  expect(rowsInView(10_000, view(299_400))).toEqual({ first: 9975, end: 10_000 });
});

test('scrolling by a row lays out nothing else, as long as four are beside those in view', () => {
  expect(rowsInView(10_000, view(30_060))).toEqual({ first: 995, end: 1030 });
  expect(rowsInView(10_000, view(30_090))).toEqual({ first: 995, end: 1030 });
  expect(rowsInView(10_000, view(30_330))).toEqual({ first: 1005, end: 1035 });
});

test('a page that is scrolled beyond a list that has become shorter shows its end', () => {
  expect(rowsInView(101, view(299_400))).toEqual({ first: 95, end: 101 });
});
