import { expect, test } from 'vitest';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';

test('mends keys and texts at any depth, and leaves the rest', () => {
  expect(storableJson({ 'a\0': ['x\ud800', { b: 'ü\0' }], n: 1, t: true, z: null, s: 'whole' })).toEqual({
    'a\ufffd': ['x\ufffd', { b: 'ü\ufffd' }],
    n: 1,
    t: true,
    z: null,
    s: 'whole',
  });
});
