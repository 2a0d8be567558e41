import { expect, test } from 'vitest';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { detectStall, type Stall } from '#conductor/model/site/detect-stall.ts';
import { restAfter } from '#conductor/sites/actions/baremetal-nodes.ts';

test('looks at nodes take a tenth of the time, and no rest is longer than five seconds', () => {
  for (const tookMs of [20, 50, 100, 400, 550]) {
    expect(tookMs / (tookMs + restAfter({ tookMs, actedMs: 0 }))).toBeLessThanOrEqual(0.1);
  }
  // no stop waits for minutes; looks that take longer take more of the time
  expect(restAfter({ tookMs: 1_500, actedMs: 0 })).toBe(5_000);
  expect(restAfter({ tookMs: 30_000, actedMs: 0 })).toBe(5_000);
});

test('while something is done about nodes there is no look either: what is left over waits no longer for that', () => {
  expect(restAfter({ tookMs: 1_100, actedMs: 1_000 })).toBe(250);
  expect(restAfter({ tookMs: 400, actedMs: 100 })).toBe(2_600);
});

test('while nodes wait for their turn, a beat rests no longer than it has looked', () => {
  expect(restAfter({ tookMs: 2_600, actedMs: 2_000, isBehind: true })).toBe(600);
  expect(restAfter({ tookMs: 2_600, actedMs: 2_000, isBehind: false })).toBe(3_400);
  expect(restAfter({ tookMs: 4_100, actedMs: 4_000, isBehind: true })).toBe(1_000);
  expect(restAfter({ tookMs: 9_000, actedMs: 0, isBehind: true })).toBe(5_000);
});

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
