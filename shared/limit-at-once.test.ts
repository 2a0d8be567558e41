import { expect, test } from 'vitest';
import { limitAtOnce } from '#shared/in-parallel.ts';

/** A task that ends when it is told to, and notes when it begins. */
function task(begun: string[], name: string) {
  const end = Promise.withResolvers<string>();
  const run = (): Promise<string> => {
    begun.push(name);
    return end.promise;
  };
  return { run, end: () => end.resolve(name), fail: (error: Error) => end.reject(error) };
}

test('so many run at once, the others in their order; who fails makes room, too', async () => {
  const inTurn = limitAtOnce({ most: 2 });
  const begun: string[] = [];
  const [a, b, c, d] = [task(begun, 'a'), task(begun, 'b'), task(begun, 'c'), task(begun, 'd')];
  const ended = Promise.allSettled([a, b, c, d].map(({ run }) => inTurn(run)));
  await expect.poll(() => begun).toEqual(['a', 'b']);
  b.fail(new Error('no'));
  await expect.poll(() => begun).toEqual(['a', 'b', 'c']);
  for (const { end } of [a, c, d]) end();
  expect((await ended).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('more than may wait are refused, and there is room again later', async () => {
  const inTurn = limitAtOnce({ most: 1, waiting: { most: 1, refusal: () => new Error('busy') } });
  const begun: string[] = [];
  const [a, b] = [task(begun, 'a'), task(begun, 'b')];
  const both = Promise.all([inTurn(a.run), inTurn(b.run)]);
  await expect(inTurn(() => Promise.resolve())).rejects.toThrow('busy');
  a.end();
  b.end();
  expect(await both).toEqual(['a', 'b']);
  expect(await inTurn(() => Promise.resolve('c'))).toBe('c');
});

test('where nobody may wait, one still runs', async () => {
  const inTurn = limitAtOnce({ most: 1, waiting: { most: 0, refusal: () => new Error('busy') } });
  expect(await inTurn(() => Promise.resolve('a'))).toBe('a');
});

test('who gives up is passed over, and nothing runs for them', async () => {
  const inTurn = limitAtOnce({ most: 1 });
  const begun: string[] = [];
  const [a, b, c] = [task(begun, 'a'), task(begun, 'b'), task(begun, 'c')];
  const hasty = new AbortController();
  const first = inTurn(a.run);
  const second = inTurn(b.run, hasty.signal);
  const third = inTurn(c.run);
  hasty.abort(new Error('given up'));
  await expect(second).rejects.toThrow('given up');
  await expect(inTurn(b.run, hasty.signal)).rejects.toThrow('given up');
  a.end();
  c.end();
  expect(await Promise.all([first, third])).toEqual(['a', 'c']);
  expect(begun).toEqual(['a', 'c']);
});

test('a turn that came before the signal fires is not lost', async () => {
  const inTurn = limitAtOnce({ most: 1 });
  const hasty = new AbortController();
  const first = inTurn(() => Promise.resolve(hasty));
  const second = inTurn(() => Promise.resolve('b'), hasty.signal);
  await first.then((controller) => controller.abort(new Error('given up')));
  await Promise.allSettled([second]);
  expect(await inTurn(() => Promise.resolve('c'))).toBe('c');
});
