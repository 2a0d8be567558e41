import { expect, test } from 'vitest';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';

test('names: letters, digits and - . _ ~ from 1.10, host names before', () => {
  for (const name of ['n1', 'namespace~name', 'a_b.c-d', 'X'.repeat(255)])
    expect(nodeNameFault(name, 10)).toBeUndefined();
  for (const name of ['bad name!', '', 'a/b', 'X'.repeat(256)]) expect(nodeNameFault(name, 96)).toContain('letters');
  expect(nodeNameFault('maintenance', 96)).toContain('reserved');
  expect(nodeNameFault('8c1bf632-bcdf-4be1-a799-94f7a1e730ac', 96)).toContain('UUID');
  expect(nodeNameFault('a.b-c', 5)).toBeUndefined();
  expect(nodeNameFault('namespace~name', 5)).toBeDefined();
});

test('booleans come as words too', () => {
  expect(['yes', 'True', '1', true].map((value) => looseBoolean.parse(value))).toEqual([true, true, true, true]);
  expect(['no', 'off', 'FALSE', false].map((value) => looseBoolean.parse(value))).toEqual([false, false, false, false]);
  expect(looseBoolean.safeParse('maybe').success).toBe(false);
});
