import { expect, test } from 'vitest';
import { parseLook } from '#conductor/board/page/keep-look.ts';
import { usualColumns } from '#conductor/board/render/fleet-columns.ts';

const usual = { columns: usualColumns, sort: { column: 'node', isDown: false } };

test('columns and order that were chosen come back, in the columns’ own order', () => {
  const kept = JSON.stringify({ columns: ['owner', 'node'], sort: 'rack', isDown: true });
  expect(parseLook(kept)).toEqual({ columns: ['node', 'owner'], sort: { column: 'rack', isDown: true } });
});

test.each([
  '',
  'null',
  '[]',
  '{"columns":5}',
  '{"columns":["gone"],"sort":"__proto__"}',
  '{"isDown":"yes"}',
  '{broken',
])('what was not understood, as %s, is as if nothing was chosen', (text) => {
  expect(parseLook(text)).toEqual(usual);
});
