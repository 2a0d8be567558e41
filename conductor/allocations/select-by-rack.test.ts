import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { selectByRack } from '#conductor/allocations/select-by-rack.ts';

const inRack = fc.record({ id: fc.uuid(), rack: fc.constantFrom('a', 'b', 'c', 'd', undefined) });
const nodesOf = fc.uniqueArray(inRack, { selector: ({ id }) => id, maxLength: 16 });
const count = fc.integer({ min: 1, max: 16 });
const perRack = (nodes: readonly { rack: string | undefined }[]): number[] =>
  [...Map.groupBy(nodes, ({ rack }) => rack).values()].map((members) => members.length);

test('as many as are asked for, none twice, whatever the placement', () => {
  fc.assert(
    fc.property(nodesOf, count, fc.constantFrom('spread', 'pack', undefined), (nodes, wanted, placement) => {
      const chosen = selectByRack(nodes, wanted, placement);
      expect(chosen).toHaveLength(Math.min(wanted, nodes.length));
      expect(new Set(chosen).size).toBe(chosen.length);
      expect(chosen.every((node) => nodes.includes(node))).toBe(true);
    }),
  );
});

test('spread: a rack gives one more than another only where the other has no more', () => {
  fc.assert(
    fc.property(nodesOf, count, (nodes, wanted) => {
      const chosen = selectByRack(nodes, wanted, 'spread');
      const most = Math.max(0, ...perRack(chosen));
      for (const [rack, members] of Map.groupBy(nodes, (node) => node.rack)) {
        const taken = chosen.filter((node) => node.rack === rack).length;
        expect(taken >= most - 1 || taken === members.length).toBe(true);
      }
    }),
  );
});

test('pack: no choice takes fewer racks', () => {
  fc.assert(
    fc.property(nodesOf, count, (nodes, wanted) => {
      const known = nodes.filter(({ rack }) => rack !== undefined);
      const chosen = selectByRack(known, wanted, 'pack');
      const sizes = perRack(known).sort((a, b) => b - a);
      const needed = Math.min(wanted, known.length);
      const fewest = sizes.findIndex((_, index) => sum(sizes.slice(0, index + 1)) >= needed) + 1;
      expect(perRack(chosen)).toHaveLength(fewest);
    }),
  );
});

test('pack takes the smallest rack that suffices, and nodes of unknown racks last', () => {
  const rack = (name: string | undefined, size: number) => Array.from({ length: size }, () => ({ rack: name }));
  const nodes = [...rack(undefined, 9), ...rack('big', 6), ...rack('fits', 3), ...rack('small', 2)];
  expect(new Set(selectByRack(nodes, 3, 'pack').map((node) => node.rack))).toEqual(new Set(['fits']));
  expect(selectByRack(nodes, 12, 'pack').filter((node) => node.rack === undefined)).toHaveLength(1);
  expect(selectByRack(nodes, 3, 'spread').map((node) => node.rack)).toEqual(['big', 'fits', 'small']);
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
