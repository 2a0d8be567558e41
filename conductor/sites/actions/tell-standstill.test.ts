import { expect, test } from 'vitest';
import { type Standstill, tellStandstill } from '#conductor/sites/actions/tell-standstill.ts';

const minute = 60_000;

test('who gets no further is told of after an hour, two, four; progress begins anew', () => {
  let known: ReadonlyMap<string, Standstill> = new Map();
  const told: string[] = [];
  const look = (atMinute: number, doing: string) => {
    const { next, due } = tellStandstill(known, new Map([['n1', doing]]), atMinute * minute);
    known = next;
    told.push(...due.map(({ name, text }) => `${atMinute}: ${name} ${text}`));
  };
  for (let at = 0; at <= 300; at += 10) look(at, `cluster.drain: waits for a conductor, asked ${at} times`);
  expect(told.map((text) => text.slice(0, 38))).toEqual([
    '60: n1 gets no further for an hour: cl',
    '120: n1 gets no further for 2 hours: c',
    '240: n1 gets no further for 4 hours: c',
  ]);
  expect(told[0]).toContain('waits for a conductor');
  told.length = 0;
  for (let at = 310; at <= 1000; at += 10) look(at, `wiping: ${at / 10} %`);
  expect(told).toEqual([]);
});
