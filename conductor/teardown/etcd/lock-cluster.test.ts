import { expect, test } from 'vitest';
import type { SessionLock } from '#conductor/db/session-lock.ts';
import { aloneWithCluster } from '#conductor/teardown/etcd/lock-cluster.ts';

/** A database whose locks this process gets, or does not; counts those that were not given back. */
function locks(isFree: boolean) {
  const state = { open: 0 };
  const lock = (): SessionLock => {
    state.open += 1;
    return {
      take: () => Promise.resolve(isFree),
      wait: () => Promise.resolve(),
      release: () => {
        state.open -= 1;
        return Promise.resolve();
      },
    };
  };
  return { lock, state };
}

test('one at a time for each cluster, and given back whatever happens', async () => {
  const database = locks(true);
  const first = Promise.withResolvers<string>();
  const working = aloneWithCluster(database, 'kubernetes', () => first.promise);
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('second'))).toBeUndefined();
  expect(await aloneWithCluster(database, 'calico', () => Promise.resolve('other'))).toBe('other');
  first.resolve('first');
  expect(await working).toBe('first');
  await expect(aloneWithCluster(database, 'kubernetes', () => Promise.reject(new Error('broken')))).rejects.toThrow(
    'broken',
  );
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('third'))).toBe('third');
  expect(database.state.open).toBe(0);
});

test('another conductor has it', async () => {
  const database = locks(false);
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('mine'))).toBeUndefined();
  expect(database.state.open).toBe(0);
});
