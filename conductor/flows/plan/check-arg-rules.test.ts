import { expect, test } from 'vitest';
import { argsSchema } from '#agent/custom/script-file.ts';
import { findWrongArgs } from '#conductor/flows/plan/check-arg-rules.ts';
import { argRules } from '#shared/steps/arg-rules.ts';

const description = 'x';
const rules = argRules(
  argsSchema({
    note: { type: 'string', description, required: false },
    mode: { type: 'string', description, required: false, enum: ['fast', 'slow'] },
    label: { type: 'string', description, required: false, pattern: '[a-z]+' },
    slow: { type: 'string', description, required: false, pattern: '(a+)+' },
    count: { type: 'integer', description, required: true, minimum: 1, maximum: 9 },
    ratio: { type: 'number', description, required: false },
    force: { type: 'boolean', description, required: false, default: false },
    list: { type: 'array', description, required: false },
    map: { type: 'object', description, required: false },
  }),
);

test.each<[Record<string, unknown>, string]>([
  [{ note: { deep: [1] } }, 'note must be a text, not an object'],
  [{ note: null }, 'note must be a text, not null'],
  [{ mode: 'medium' }, 'mode must be one of fast, slow'],
  [{ label: 'A1' }, 'label must match ^(?:[a-z]+)$'],
  [{ count: 1.5 }, 'count must be a whole number, not a number'],
  [{ count: '3' }, 'count must be a whole number, not a text'],
  [{ count: 0 }, 'count must be 1 or more'],
  [{ count: 10 }, 'count must be 9 or less'],
  [{ ratio: true }, 'ratio must be a number, not true or false'],
  [{ force: 'yes' }, 'force must be true or false, not a text'],
  [{ list: {} }, 'list must be a list, not an object'],
  [{ map: [] }, 'map must be an object, not a list'],
])('a script step’s %j is refused: %s', (args, why) => {
  expect(findWrongArgs(args, rules ?? {})).toEqual([why]);
});

test.each<Record<string, unknown>>([
  { note: 'x', mode: 'fast', label: 'abc', count: 9, ratio: 1, force: true, list: [1], map: { a: 1 } },
  { unheard_of: 1 },
  { slow: `${'a'.repeat(40)}!` }, // would take years: left to the step
])('%j is not', (args) => {
  expect(findWrongArgs(args, rules ?? {})).toEqual([]);
});

test('a pattern that is none is left to the step', () => {
  expect(findWrongArgs({ a: 'x' }, { a: { types: ['string'], pattern: '(' } })).toEqual([]);
});
