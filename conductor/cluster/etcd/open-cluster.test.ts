import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aloneWithCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const locksHeld = async (): Promise<unknown> =>
  rowsOf(
    await database.db.execute(sql`select pid from pg_locks join pg_database on pg_database.oid = database
    where locktype = 'advisory' and datname = current_database()`),
  );

test('one at a time for each cluster, and given back whatever happens', async () => {
  const first = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const working = aloneWithCluster(database, 'kubernetes', () => {
    begun.resolve();
    return first.promise;
  });
  await begun.promise;
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('second'))).toBeUndefined();
  expect(await aloneWithCluster(database, 'calico', () => Promise.resolve('other'))).toBe('other');
  first.resolve('first');
  expect(await working).toBe('first');
  await expect(aloneWithCluster(database, 'kubernetes', () => Promise.reject(new Error('broken')))).rejects.toThrow(
    'broken',
  );
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('third'))).toBe('third');
  await expect.poll(locksHeld).toEqual([]);
});

test('another conductor has it', async () => {
  const others = database.lock('etcd cluster kubernetes');
  expect(await others.take()).toBe(true);
  expect(await aloneWithCluster(database, 'kubernetes', () => Promise.resolve('mine'))).toBeUndefined();
  await others.release();
  await expect.poll(() => aloneWithCluster(database, 'kubernetes', () => Promise.resolve('mine'))).toBe('mine');
});
