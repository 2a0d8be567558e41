import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { rowsOf, statement } from '#conductor/kernel/db/query/statement.ts';
import { beforeCommit, type Write } from '#conductor/kernel/db/session/session.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
const written: number[][] = [];
const insert = statement<{ rows: number[] }>(
  (value) => sql`insert into numbers select * from unnest(${value('rows')}::int[])`,
);
const write: Write<number> = async (db, rows) => {
  written.push([...rows]);
  await insert(db, { rows: [...rows] });
};
const stored = async () =>
  rowsOf(await database.db.execute(sql`select n from numbers order by n`)) as readonly { n: number }[];

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.execute(sql`create table numbers (n int primary key)`);
});
afterAll(() => database.close());

test('rows of a transaction are written together, after all else and with its COMMIT', async () => {
  const before = await database.db.transaction(async (tx) => {
    for (const row of [3, 1, 2]) await beforeCommit(tx, write, row);
    return rowsOf(await tx.execute(sql`select n from numbers`));
  });
  expect([before, written.splice(0), await stored()]).toEqual([[], [[3, 1, 2]], [{ n: 1 }, { n: 2 }, { n: 3 }]]);
});

test('without a transaction a row is written at once', async () => {
  await beforeCommit(database.db, write, 4);
  expect([written.splice(0), (await stored()).length]).toEqual([[[4]], 4]);
});

test('a transaction that fails writes none, and one whose rows are refused commits nothing', async () => {
  const failed = database.db.transaction(async (tx) => {
    await beforeCommit(tx, write, 5);
    throw new Error('undo');
  });
  await expect(failed).rejects.toThrow('undo');
  const refused = database.db.transaction(async (tx) => {
    await tx.execute(sql`insert into numbers values (6)`);
    await beforeCommit(tx, write, 1);
  });
  await expect(refused).rejects.toMatchObject({ cause: { code: '23505' } });
  expect([written.splice(0), (await stored()).length]).toEqual([[[1]], 4]);
});

test('what would be sent after the COMMIT fails the transaction', async () => {
  const late: Write<number> = async (db, rows) => {
    await Promise.resolve();
    await write(db, rows);
  };
  const work = database.db.transaction(async (tx) => {
    await tx.execute(sql`insert into numbers values (7)`);
    await beforeCommit(tx, late, 8);
  });
  await expect(work).rejects.toThrow('sent at once');
  expect((await stored()).length).toBe(4);
});
