import { expect, test } from 'vitest';
import { readMapping } from '#conductor/http/sites/airship-values.ts';

test.each(['&a [*a]', 'a: &a {b: *a}', '<<: *x', 'a: {<<: 1}', '- 1', '"text"'])('%j is not a mapping', (text) => {
  expect(() => readMapping(text)).toThrow('body: it must be a mapping, as JSON or YAML');
});

test('YAML and JSON are mappings, and nothing is an empty one', () => {
  expect([readMapping('a: 1'), readMapping('{"a": 1}'), readMapping('')]).toEqual([{ a: 1 }, { a: 1 }, {}]);
});
