import { asc, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { isAmong, manyValues } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

const kept = ['plain', 'quoted "x", y', "an apostrophe's", '{a,b}', 'back\\slash', 'Grün'];
const rows = kept.map((name) => ({
  uuid: crypto.randomUUID(),
  name,
  driver: 'fake-hardware',
  networkInterface: 'noop',
  provisionState: 'enroll' as const,
}));
const uuids = rows.map(({ uuid }) => uuid);

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.insert(nodes).values(rows);
});
afterAll(() => database.close());

async function namesWhere(condition: ReturnType<typeof isAmong>): Promise<(string | null)[]> {
  const found = await database.db.select({ name: nodes.name }).from(nodes).where(condition).orderBy(asc(nodes.id));
  return found.map(({ name }) => name);
}

test.each([0, manyValues])(
  'values of whatever letters, of text, of UUIDs, of an expression; beside %i more',
  async (count) => {
    const more = Array.from({ length: count }, () => crypto.randomUUID());
    expect(await namesWhere(isAmong(nodes.name, [...kept, ...more]))).toEqual(kept);
    expect(await namesWhere(isAmong(nodes.name, [...more, ...kept.slice(1, 3).toReversed()]))).toEqual(
      kept.slice(1, 3),
    );
    expect(await namesWhere(isAmong(nodes.uuid, [...more, ...uuids.slice(2)]))).toEqual(kept.slice(2));
    const upper = isAmong(sql`upper(${nodes.name})`, ['PLAIN', 'plain', '{A,B}', ...more]);
    expect(await namesWhere(upper)).toEqual(['plain', '{a,b}']);
  },
);

test('none of no values', async () => {
  expect(await namesWhere(isAmong(nodes.name, []))).toEqual([]);
});

test('one parameter for more values than a statement has parameters', async () => {
  const many = [...Array.from({ length: 70_000 }, (_, index) => `v${index}`), 'plain'];
  expect(await namesWhere(isAmong(nodes.name, many))).toEqual(['plain']);
});
