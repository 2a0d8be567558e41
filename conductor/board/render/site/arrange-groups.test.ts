import { expect, test } from 'vitest';
import { arrangeGroups, directDependencies } from '#conductor/board/render/site/arrange-groups.ts';

const group = (name: string, ...after: readonly string[]) => ({ name, depends_on: after });
const names = (...groups: ReturnType<typeof group>[]) =>
  arrangeGroups(groups).map((column) => column.map(({ name }) => name));

test('each group stands behind all that it depends on', () => {
  expect(names()).toEqual([]);
  expect(names(group('a'), group('b', 'a'), group('c', 'a', 'b'), group('d'))).toEqual([['a', 'd'], ['b'], ['c']]);
});

test('lines cross where they must alone', () => {
  expect(names(group('a'), group('b'), group('c'), group('x', 'c'), group('y', 'b'), group('z', 'a'))).toEqual([
    ['a', 'b', 'c'],
    ['z', 'y', 'x'],
  ]);
});

test('a thousand groups in a row are arranged, too', () => {
  const chain = Array.from({ length: 1000 }, (_, index) => group(`g${index}`, ...(index ? [`g${index - 1}`] : [])));
  expect(names(...chain)).toHaveLength(1000);
});

test('what a group comes after anyway is left out', () => {
  const direct = directDependencies([group('a'), group('b', 'a'), group('c', 'a', 'b'), group('d', 'a', 'c')]);
  expect([...direct.values()]).toEqual([[], ['a'], ['b'], ['c']]);
});
