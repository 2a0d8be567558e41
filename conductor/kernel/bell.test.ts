import { expect, test } from 'vitest';
import { createBell } from '#conductor/kernel/wake-loop.ts';

const stay = new AbortController().signal;

/** Sleeps that end when they are told to. */
function createSleeps() {
  const sleeps: { readonly ms: number; readonly end: () => void }[] = [];
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      sleeps.push({ ms, end: resolve });
    });
  return { clock: { sleep }, sleeps };
}

test('a rest ends with its time, or with a ring', async () => {
  const { clock, sleeps } = createSleeps();
  const bell = createBell(clock);
  const first = bell.rest(1000, stay);
  sleeps[0]?.end();
  await first;
  const second = bell.rest(2000, stay);
  bell.ring();
  await second;
  expect(sleeps.map(({ ms }) => ms)).toEqual([1000, 2000]);
});

test('a ring that nobody rested for ends the next rest at once, and only that', async () => {
  const { clock, sleeps } = createSleeps();
  const bell = createBell(clock);
  bell.ring();
  bell.ring();
  await bell.rest(1000, stay);
  expect(sleeps).toEqual([]);
  void bell.rest(1000, stay);
  expect(sleeps).toHaveLength(1);
});

test('a burst of rings wakes once', async () => {
  const { clock, sleeps } = createSleeps();
  const bell = createBell(clock, { burstMs: 150 });
  const first = bell.rest(1000, stay);
  bell.ring();
  await expect.poll(() => sleeps.map(({ ms }) => ms)).toEqual([1000, 150]);
  bell.ring();
  sleeps[1]?.end();
  await first;
  void bell.rest(100, stay);
  expect(sleeps.map(({ ms }) => ms)).toEqual([1000, 150, 100]);
  sleeps[2]?.end();
  await expect.poll(() => sleeps.map(({ ms }) => ms)).toEqual([1000, 150, 100, 100]);
});

test('who leaves is not kept, resting or waiting for the end of a burst', async () => {
  const { clock, sleeps } = createSleeps();
  const bell = createBell(clock, { burstMs: 150 });
  const leaving = [new AbortController(), new AbortController()] as const;
  const first = bell.rest(1000, leaving[0].signal);
  leaving[0].abort(new Error('hung up'));
  await expect(first).rejects.toThrow('hung up');
  bell.ring();
  const second = bell.rest(1000, leaving[1].signal);
  expect(sleeps.map(({ ms }) => ms)).toEqual([1000, 150]);
  leaving[1].abort(new Error('stopped'));
  await expect(second).rejects.toThrow('stopped');
  await expect(bell.rest(1000, leaving[1].signal)).rejects.toThrow('stopped');
});
