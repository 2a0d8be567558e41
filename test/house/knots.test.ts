import { expect, test } from 'vitest';
import { countBackArrows, graphOf, knotted } from './knots.ts';

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
