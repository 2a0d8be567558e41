import { expect, test } from 'vitest';
import { nameOutdated } from '#conductor/sites/nodes/decide-prepare.ts';
import { factsOf, inLine } from '#conductor/sites/nodes/testing/node-cases.ts';

test('what differs is what can be compared, and whatever else it was deployed from', () => {
  const facts = factsOf('active', 'deployed by the site', { rest: { ...inLine, differs: ['driver', 'traits'] } });
  expect(nameOutdated({ facts, designHash: () => 'now' })).toEqual(['driver', 'traits']);
  expect(nameOutdated({ facts, designHash: () => 'then' })).toEqual([
    'driver',
    'traits',
    'deployed from other documents',
  ]);
});
