import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createBatches } from '#conductor/kernel/db/query/batches.ts';

/** Runs that end when they are told to. */
function heldRuns() {
  const runs: { readonly items: readonly number[]; readonly end: (fault?: Error) => void }[] = [];
  const run = (items: readonly number[]) =>
    new Promise<readonly string[]>((resolve, reject) => {
      runs.push({ items, end: (fault) => (fault ? reject(fault) : resolve(items.map((item) => `did ${item}`))) });
    });
  return { runs, run };
}

describe('batches', () => {
  test('the first goes alone, what comes meanwhile goes together', async () => {
    const { runs, run } = heldRuns();
    const ask = createBatches(run);
    const answers = [ask(1), ask(2), ask(3)];
    expect(runs.map(({ items }) => items)).toEqual([[1]]);
    runs[0]?.end();
    expect(await answers[0]).toBe('did 1');
    await nextTurn();
    expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3]]);
    runs[1]?.end();
    expect(await Promise.all(answers)).toEqual(['did 1', 'did 2', 'did 3']);
  });

  test('a run that fails fails those in it, and nobody else', async () => {
    const { runs, run } = heldRuns();
    const ask = createBatches(run);
    const answers = [ask(1), ask(2)];
    runs[0]?.end(new Error('the disk is full'));
    await expect(answers[0]).rejects.toThrow('the disk is full');
    await nextTurn();
    runs[1]?.end();
    expect(await answers[1]).toBe('did 2');
    const later = ask(3);
    await nextTurn();
    runs[2]?.end();
    expect(await later).toBe('did 3');
  });

  test('a batch has its limit', async () => {
    const sizes: number[] = [];
    const ask = createBatches(
      (items: readonly number[]) => {
        sizes.push(items.length);
        return Promise.resolve(items);
      },
      { maxItems: 2 },
    );
    await Promise.all([1, 2, 3, 4, 5].map((item) => ask(item)));
    expect(sizes).toEqual([1, 2, 2]);
  });

  test('a failure that may be one item’s: each is tried by itself', async () => {
    const run = (items: readonly number[]) =>
      items.includes(2) ? Promise.reject(new Error('2 is poison')) : Promise.resolve(items);
    const ask = createBatches(run, { isOneItems: () => true });
    const answers = await Promise.allSettled([0, 1, 2, 3].map((item) => ask(item)));
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  });

  test('a run that never ends is given up, and the next begins', async () => {
    const run = (items: readonly number[]) =>
      items.includes(1) ? new Promise<readonly number[]>(() => undefined) : Promise.resolve(items);
    const ask = createBatches(run, { deadlineMs: 20, isOneItems: () => false });
    const answers = [ask(1), ask(2)];
    await expect(answers[0]).rejects.toMatchObject({ code: 'database_error' });
    expect(await answers[1]).toBe(2);
  });
});
