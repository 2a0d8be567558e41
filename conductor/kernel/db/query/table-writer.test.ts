import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import { tableWriter } from '#conductor/kernel/db/query/table-writer.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

const writer = tableWriter<typeof nodes, { readonly seconds: number }>(nodes, {
  primaryKey: 'uuid',
  computed: { seconds: (value) => sql`provision_updated_at = to_timestamp(${value}::float8)` },
  returning: sql`name`,
});
const nodesWith = rowsBy(nodes, 'uuid', 'id');
const row = (name: string, more: object = {}) => ({
  uuid: crypto.randomUUID(),
  name,
  driver: 'fake-hardware',
  networkInterface: 'noop',
  provisionState: 'enroll' as const,
  ...more,
});

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

test('rows go in as they are, with defaults for what is absent', async () => {
  const createdAt = new Date('2026-01-02T03:04:05.678Z');
  const [one, two] = [row('one', { extra: { list: [1, 'ü'] }, createdAt }), row('two', { extra: {}, createdAt })];
  await writer.insert(database.db, [one, two]);
  expect(await nodesWith(database.db, one.uuid)).toMatchObject([{ ...one, maintenance: false, owner: null }]);
  expect(await nodesWith(database.db, two.uuid)).toMatchObject([two]);
  await writer.insert(database.db, []);
});

test('a change writes what it names: objects, lists and null, times, what is computed', async () => {
  const node = row('changed', { owner: 'p1', lessee: 'p2' });
  await writer.insert(database.db, [node]);
  const change = { extra: { a: [] }, owner: null, lessee: undefined, maintenance: true, seconds: 60 };
  expect(await writer.update(database.db, node.uuid, change)).toEqual([['changed']]);
  expect(await nodesWith(database.db, node.uuid)).toMatchObject([
    {
      ...node,
      extra: { a: [] },
      owner: null,
      lessee: 'p2',
      maintenance: true,
      provisionUpdatedAt: new Date(60_000),
    },
  ]);
});

test('nothing is changed where there is no such row, and a refused value is the database’s error', async () => {
  expect(await writer.update(database.db, crypto.randomUUID(), { owner: 'p' })).toEqual([]);
  await expect(writer.update(database.db, 'no uuid', { owner: 'p' })).rejects.toMatchObject({
    cause: { code: '22P02' },
  });
});

test('a statement that is sent when its transaction has ended is refused', async () => {
  const late = await database.db.transaction((tx) => Promise.resolve(() => nodesWith(tx, crypto.randomUUID())));
  await expect(late()).rejects.toMatchObject({ cause: { message: expect.stringContaining('had ended') } });
});
