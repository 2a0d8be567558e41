import { expect, test } from 'vitest';
import { findPlaces } from '#conductor/board/render/fleet/find-places.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';

const views = [
  { words: 'Racks', about: 'view', href: '#racks/' },
  { words: 'Site', about: 'view', href: '#site/' },
];
const nodes = ['r01-n10', 'r01-n2', 'x-r01', 'odd/%"'].map((name, index) =>
  boardNode({ uuid: `u${index}`, name, rack: index === 2 ? null : 'r01' }),
);
const words = (text: string) => findPlaces(text, { nodes, views }).map((place) => place.words);

test('what begins with the words comes first, as people count', () => {
  expect(words('r01')).toEqual(['r01', 'r01-n2', 'r01-n10', 'x-r01']);
  expect(words('N10')).toEqual(['r01-n10']);
  expect(words('si')).toEqual(['Site']);
});

test('before anything is typed there are the views, and what is not there is not found', () => {
  expect(words(' ')).toEqual(['Racks', 'Site']);
  expect(words('nobody')).toEqual([]);
});

test('a name leads to its node, whatever signs it has', () => {
  expect(findPlaces('odd', { nodes, views })[0]?.href).toBe(`#node/${encodeURIComponent('odd/%"')}`);
});
