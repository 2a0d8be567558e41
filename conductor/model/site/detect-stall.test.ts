import { expect, test } from 'vitest';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { detectStall, type Stall } from '#conductor/model/site/detect-stall.ts';

const minute = 60_000;

test('a node that gets no further is reported after an hour, two, four; progress begins again', () => {
  let known: ReadonlyMap<string, Stall> = new Map();
  const reported: string[] = [];
  const look = (atMinute: number, doing: Remark) => {
    const { next, due } = detectStall(known, new Map([['n1', doing]]), atMinute * minute);
    known = next;
    reported.push(...due.map(([name, remark]) => `${atMinute}: ${name} ${describeRemark(remark)}`));
  };
  const drain = { flow: 'decommission', step: 'cluster.drain', waitingFor: 'a conductor' } as const;
  // figures that go on by themselves
  const asked = (times: number): Remark => ({ code: 'flow', arguments: { ...drain, times } });
  for (let at = 0; at <= 300; at += 10) look(at, asked(at));
  expect(reported.map((text) => text.slice(0, 38))).toEqual([
    '60: n1 gets no further for an hour: ta',
    '120: n1 gets no further for 2 hours: t',
    '240: n1 gets no further for 4 hours: t',
  ]);
  expect(reported[0]).toContain('cluster.drain, waiting for a conductor');
  reported.length = 0;
  for (let at = 310; at <= 1000; at += 10) {
    look(at, newRemark('flow', { flow: 'wipe', step: 'deploy.wipe_disks', percent: at / 10 }));
  }
  expect(reported).toEqual([]);
});
