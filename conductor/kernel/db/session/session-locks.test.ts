import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { createSessionLocks, type SessionLocks } from '#conductor/kernel/db/session/session-locks.ts';
import { silentLog } from '#shared/log.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

let made: TestDatabase;
let database: Database;
let here: SessionLocks;
let elsewhere: SessionLocks;

beforeAll(async () => {
  made = await makeTestDatabase();
  database = await openDatabase({ url: made.url, dataDirectory: '', log: silentLog, isAlone: true });
  here = createSessionLocks(made.url);
  elsewhere = createSessionLocks(made.url);
});
afterAll(async () => {
  for (const each of [here, elsewhere, database]) await each.close();
  await made.drop();
});

test('a lock has one holder, in the same process and in others', async () => {
  const first = here.lock('door');
  const others = [here.lock('door'), elsewhere.lock('door')];
  const takeAll = () => Promise.all(others.map((lock) => lock.take()));
  expect(await Promise.all([first.take(), first.take()])).toEqual([true, true]);
  expect(await takeAll()).toEqual([false, false]);
  expect(await here.lock('window').take()).toBe(true);
  for (const other of others) await other.release();
  expect(await takeAll()).toEqual([false, false]);
  await first.release();
  const taken = await takeAll();
  expect(taken.filter(Boolean)).toHaveLength(1);
  expect(await first.take()).toBe(false);
  for (const other of others) await other.release();
  expect(await first.take()).toBe(true);
  await first.release();
});

test('holders hear of a lost connection, and may take their locks again', async () => {
  const heard: string[] = [];
  const locks = ['a', 'b'].map((name) => here.lock(name, () => heard.push(name)));
  const released = here.lock('c', () => heard.push('c'));
  for (const lock of [...locks, released]) expect(await lock.take()).toBe(true);
  await released.release();
  await database.db.execute(sql`select pg_terminate_backend(pid) from pg_locks
    join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and datname = current_database()`);
  await expect.poll(() => heard).toEqual(['a', 'b']);
  // a connection says that it ends before the server lets go of its locks
  await expect.poll(() => elsewhere.lock('a').take()).toBe(true);
  const [a, b] = locks;
  await expect.poll(() => b?.take()).toBe(true);
  expect(await a?.take()).toBe(false);
  for (const lock of locks) await lock.release();
});
