import { sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { recordStepEvents } from '#conductor/flows/log/step-log.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf, type SentQuery, sendBy } from '#conductor/kernel/db/query/statement.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const step = { uuid, flowUuid: uuid, state: 'running', startedAt: null, waitUntil: null, retryUntil: null } as const;
const event = { step, event: 'succeeded', conductor: 'c', now: new Date(0) } as const;

test.each([
  ['with a lease', { nodeUuid: uuid, holder: 'c', token: 1 }],
  ['without', undefined],
])('steps are found by their index, however few there were when PostgreSQL planned it: %s', async (_, lease) => {
  const database = await openTestDatabase();
  onTestFinished(() => database.close());
  const sent: SentQuery[] = [];
  const listener = sendBy({} as Queryable, (query) => Promise.resolve({ rows: [[sent.push(query)]] }));
  await recordStepEvents(listener, [event], lease);
  const literal = (value: unknown) => (value === null ? 'null' : `'${value as string}'`);
  const text = sent[0]?.text.replaceAll(/\$(\d+)/g, (_all, place) => literal(sent[0]?.values[Number(place) - 1]));
  const plan = rowsOf(await database.db.execute(sql.raw(`explain ${text}`))) as { readonly 'QUERY PLAN': string }[];
  const scans = plan.map((row) => row['QUERY PLAN']).filter((line) => / on flow_steps/.test(line));
  expect(scans.some((line) => line.includes('Index Scan'))).toBe(true);
  expect(scans.filter((line) => line.includes('Seq Scan'))).toEqual([]);
});
