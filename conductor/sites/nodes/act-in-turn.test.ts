import { expect, test } from 'vitest';
import { actInTurn } from '#conductor/sites/nodes/act-in-turn.ts';

const items = Array.from({ length: 100 }, (_, index) => index);

test('all is done, so many at a time', async () => {
  let atWork = 0;
  let most = 0;
  const act = async (item: number) => {
    atWork += 1;
    most = Math.max(most, atWork);
    await Promise.resolve();
    atWork -= 1;
    return item * 2;
  };
  const results = await actInTurn(items, act, { atOnce: 7, budgetMs: 1000 });
  expect(results.size).toBe(100);
  expect(results.get(21)).toBe(42);
  expect(most).toBe(7);
});

test('what has not begun in time is left out, and is not always the same', async () => {
  const few = async () => {
    let time = 0;
    const act = (item: number) => {
      time += 10;
      return Promise.resolve(item);
    };
    return [...(await actInTurn(items, act, { atOnce: 1, budgetMs: 50, now: () => time })).keys()];
  };
  const first = await few();
  expect(first).toHaveLength(5);
  expect(await few()).not.toEqual(first);
});
