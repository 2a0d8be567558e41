import { expect, test } from 'vitest';
import { backOffMs, retry } from '#shared/retry.ts';
import { createInstantClock } from '#test/support/instant-clock.ts';

/** Fails with its number so many times, then answers it. */
const failing = (times: number) => async (attempt: number) => {
  if (attempt <= times) throw new Error(`try ${attempt}`);
  return attempt;
};

test('tries until it succeeds, with the waits asked for', async () => {
  const clock = createInstantClock();
  const retried: unknown[] = [];
  const onRetry = (error: unknown, attempt: number, waitMs: number) => retried.push([String(error), attempt, waitMs]);
  const delayMs = (attempt: number) => (attempt === 1 ? 0 : 10 * attempt);
  expect(await retry(failing(3), { clock, delayMs, onRetry })).toBe(4);
  expect(clock.sleeps).toEqual([20, 30]);
  expect(retried).toEqual([
    ['Error: try 1', 1, 0],
    ['Error: try 2', 2, 20],
    ['Error: try 3', 3, 30],
  ]);
});

test('throws the last failure: of the last try, of the last in time, or one that does not pass', async () => {
  const clock = createInstantClock();
  const delayMs = () => 10;
  await expect(retry(failing(9), { clock, delayMs, attempts: 3 })).rejects.toThrow('try 3');
  await expect(retry(failing(9), { clock, delayMs, withinMs: 35 })).rejects.toThrow('try 4');
  const passes = (error: unknown, attempt: number) => attempt < 2 && String(error) === 'Error: try 1';
  await expect(retry(failing(9), { clock, delayMs, passes })).rejects.toThrow('try 2');
});

test('a signal ends tries and waits, with its own reason', async () => {
  const clock = createInstantClock();
  const delayMs = () => 10;
  const early = AbortSignal.abort(new Error('stopped'));
  await expect(retry(failing(0), { clock, delayMs, signal: early })).rejects.toThrow('stopped');
  const amid = new AbortController();
  const work = async () => {
    amid.abort(new Error('stopped'));
    throw new Error('what it broke off');
  };
  await expect(retry(work, { clock, delayMs, signal: amid.signal })).rejects.toThrow('stopped');
  const asleep = new AbortController();
  const onRetry = () => asleep.abort(new Error('stopped'));
  await expect(retry(failing(1), { clock, delayMs, signal: asleep.signal, onRetry })).rejects.toThrow('stopped');
});

test('backs off between its bounds', () => {
  const waits = (options: Omit<Parameters<typeof backOffMs>[0], 'firstMs'>) =>
    [1, 2, 3, 9, 5000].map((failures) => backOffMs({ firstMs: 100, mostMs: 1000, ...options }, failures));
  expect(waits({})).toEqual([100, 200, 400, 1000, 1000]);
  expect(waits({ leastMs: 250 })).toEqual([250, 250, 400, 1000, 1000]);
  expect(waits({ spread: [0, 1], random: () => 0.5 })).toEqual([50, 100, 200, 500, 500]);
  expect(waits({ spread: [0.75, 1.25], random: () => 0 })).toEqual([75, 150, 300, 750, 750]);
});
