import { expect, test } from 'vitest';
import { writeInTurns } from '#conductor/http/sites/airship-values.ts';

test('thousands of documents hold nobody up, and are written in order', async () => {
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 0);
  const slow = (each: unknown): string => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return String(each);
  };
  const [first, second] = await Promise.all([writeInTurns([...Array(50).keys()], slow), writeInTurns(['x'], slow)]);
  clearInterval(counting);
  expect(first).toEqual(Array.from({ length: 50 }, (_, index) => String(index)));
  expect(second).toEqual(['x']);
  expect(turns).toBeGreaterThan(3);
});

test('one that fails does not keep the next from its turn', async () => {
  const fail = (): string => {
    throw new Error('no text');
  };
  await expect(writeInTurns([1], fail)).rejects.toThrow('no text');
  expect(await writeInTurns([1], String)).toEqual(['1']);
});
