import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fenceObject } from '#conductor/flows/engine/node-worker.ts';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { undisputedLife } from '#conductor/kernel/db/session/life.ts';
import { type KeptLease, readMoment } from '#conductor/kernel/lease.ts';
import { keepLease } from '#conductor/nodes/node-lease.ts';
import { silentLog } from '#shared/log.ts';

type Answer = { token: number }[];

/** A database whose answer to each renewal the test gives. */
function setUp() {
  const asked: { answer: (rows: Answer) => void; fail: (error: Error) => void }[] = [];
  const returning = () =>
    new Promise<Answer>((resolve, reject) => {
      asked.push({ answer: resolve, fail: reject });
    });
  const db = { update: () => ({ set: () => ({ where: () => ({ returning }) }) }) } as unknown as Queryable;
  const context = { db, log: silentLog, config: { leaseMs: 3000 }, database: { life: undisputedLife } };
  const kept = keepLease(context, { nodeUuid: 'n', holder: 'me', token: 1 }, readMoment());
  return { asked, kept };
}

let kept: KeptLease;
beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  kept.stop();
  vi.useRealTimers();
});

const held: Answer = [{ token: 1 }];

test('renewed in time, it is held', async () => {
  const { asked, ...rest } = setUp();
  kept = rest.kept;
  for (let third = 0; third < 9; third += 1) {
    await vi.advanceTimersByTimeAsync(1000);
    asked[third]?.answer(held);
  }
  expect(asked).toHaveLength(9);
  kept.requireHeld();
  expect(kept.signal.aborted).toBe(false);
});

test('taken over, it is lost at once', async () => {
  const { asked, ...rest } = setUp();
  kept = rest.kept;
  await vi.advanceTimersByTimeAsync(1000);
  asked[0]?.answer([]);
  await vi.advanceTimersByTimeAsync(0);
  expect(kept.signal.reason).toMatchObject({ code: 'lease_lost' });
});

test('a database that does not answer: lost when its time is over, counted from the last question that was answered', async () => {
  const { asked, ...rest } = setUp();
  kept = rest.kept;
  await vi.advanceTimersByTimeAsync(1000);
  await vi.advanceTimersByTimeAsync(500);
  asked[0]?.answer(held); // asked at 1000, so good until 4000
  await vi.advanceTimersByTimeAsync(2400);
  kept.requireHeld();
  await vi.advanceTimersByTimeAsync(100);
  expect(kept.signal.reason).toMatchObject({ code: 'lease_lost' });
});

test('after a pause nothing is done, even before any timer has run', () => {
  ({ kept } = setUp());
  const done: string[] = [];
  const bmc = fenceObject({ power: { set: (target: string) => done.push(target), targets: ['on'] } }, kept.requireHeld);
  bmc.power.set('on');
  vi.setSystemTime(Date.now() + 3000);
  expect(() => bmc.power.set('off')).toThrow(/could not be renewed/);
  expect(done).toEqual(['on']);
  expect(kept.signal.aborted).toBe(true);
  expect(bmc.power.targets).toEqual(['on']);
});
