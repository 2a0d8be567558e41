import { expect, test } from 'vitest';
import { createChosenRows, meantRows } from '#conductor/board/page/choose-rows.ts';
import type { BoardRow } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';

const rows: readonly BoardRow[] = ['a', 'b', 'c', 'd'].map((uuid) => ({ flow: undefined, node: boardNode({ uuid }) }));

test('one is chosen, then all up to another, either way, and no longer', () => {
  const chosen = createChosenRows();
  chosen.toggle('c', rows, false);
  chosen.toggle('a', rows, true);
  expect([...chosen.uuids].toSorted((a, b) => a.localeCompare(b))).toEqual(['a', 'b', 'c']);
  chosen.toggle('b', rows, false);
  expect([...chosen.uuids]).not.toContain('b');
  chosen.clear();
  expect(chosen.among(rows)).toEqual([]);
});

test('what is not shown is not chosen with a range, nor acted on', () => {
  const chosen = createChosenRows();
  chosen.toggle('gone', rows, true);
  expect(chosen.among(rows)).toEqual([]);
  chosen.toggle('b', rows, false);
  expect(chosen.among(rows.slice(2))).toEqual([]);
  expect(chosen.among(rows)).toHaveLength(1);
});

test('an action is on the chosen ones that are shown, and on all of them only where none is chosen', () => {
  const chosen = createChosenRows();
  expect(meantRows(chosen, rows)).toMatchObject({ label: 'Act on the nodes shown…', rows });
  chosen.toggle('a', rows, false);
  chosen.toggle('b', rows, false);
  expect(meantRows(chosen, rows)).toMatchObject({ label: 'Act on 2 chosen…', rows: rows.slice(0, 2) });
  expect(meantRows(chosen, rows.slice(1))).toMatchObject({ label: 'Act on 1 of 2 chosen…', rows: [rows[1]] });
  // they have left the filter
  expect(meantRows(chosen, rows.slice(2))).toEqual({ label: '0 of 2 chosen are shown', title: '', rows: [] });
});
