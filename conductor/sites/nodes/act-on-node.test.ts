import { expect, test } from 'vitest';
import { actInTurn } from '#conductor/sites/nodes/act-on-node.ts';

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

test('after a failure nothing begins any more, and nothing goes on when it is told', async () => {
  let begun = 0;
  let atWork = 0;
  const act = async () => {
    begun += 1;
    atWork += 1;
    const turns = begun === 1 ? 0 : 10;
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    atWork -= 1;
    if (turns === 0) throw new Error('the database is gone');
  };
  await expect(actInTurn(items, act, { atOnce: 4, budgetMs: 1000 })).rejects.toThrow('the database is gone');
  expect({ begun, atWork }).toEqual({ begun: 4, atWork: 0 });
});
