import { expect, test } from 'vitest';
import { circlesOf, countBackArrows, graphOf, knotted } from './knots.ts';

test('a knot is what leads back to itself', () => {
  const graph = graphOf([
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'b'],
    ['c', 'd'],
    ['d', 'd'],
  ]);
  expect(knotted(graph)).toEqual(['b', 'c']);
  expect(countBackArrows(graph)).toBe(1);
  expect(circlesOf(graph)).toEqual([['b', 'c']]);
});

test('circles that do not meet are counted each', () => {
  const graph = graphOf([
    ['a', 'b'],
    ['b', 'a'],
    ['b', 'c'],
    ['c', 'd'],
    ['d', 'c'],
  ]);
  expect(circlesOf(graph)).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
});

test('floors have none', () => {
  const graph = graphOf([
    ['top', 'middle'],
    ['top', 'bottom'],
    ['middle', 'bottom'],
  ]);
  expect(knotted(graph)).toEqual([]);
  expect(countBackArrows(graph)).toBe(0);
});
