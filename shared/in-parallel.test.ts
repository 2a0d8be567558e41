import { expect, test } from 'vitest';
import { inParallel } from '#shared/in-parallel.ts';

const items = Array.from({ length: 100 }, (_, index) => index);

test('all is done, so many at a time, and the results stand in the order of the items', async () => {
  let atWork = 0;
  let most = 0;
  const act = async (item: number) => {
    atWork += 1;
    most = Math.max(most, atWork);
    for (let turn = 0; turn < 1 + (item % 5); turn += 1) await Promise.resolve();
    atWork -= 1;
    return item * 2;
  };
  expect(await inParallel(items.values(), act, { atOnce: 7 })).toEqual(items.map((item) => item * 2));
  expect(most).toBe(7);
  expect(await inParallel([], act, { atOnce: 7 })).toEqual([]);
});

test('what has not begun when it is over is left out, but the first', async () => {
  const act = (item: number) => Promise.resolve(item);
  let left = 3;
  const goOn = () => {
    left -= 1;
    return left > 0;
  };
  expect(await inParallel(items, act, { atOnce: 2, goOn })).toEqual([0, 1, 2]);
  expect(await inParallel(items, act, { atOnce: 2, goOn })).toEqual([0]);
});

test('after a failure nothing begins any more, and nothing goes on when it is told', async () => {
  let begun = 0;
  let atWork = 0;
  const act = async (item: number) => {
    begun += 1;
    atWork += 1;
    for (let turn = 0; turn < item * 10; turn += 1) await Promise.resolve();
    atWork -= 1;
    if (item === 0) throw new Error('the database is gone');
  };
  await expect(inParallel(items, act, { atOnce: 4 })).rejects.toThrow('the database is gone');
  expect({ begun, atWork }).toEqual({ begun: 4, atWork: 0 });
});
