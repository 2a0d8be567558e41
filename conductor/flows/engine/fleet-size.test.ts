import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selectAsked } from '#conductor/flows/engine/scheduler.ts';
import { deleteOldFlows } from '#conductor/flows/log/flow-store.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { silentLog } from '#shared/log.ts';
import { fillFleet, past } from '#test/support/fill-fleet.ts';
import { readBlocks } from '#test/support/read-blocks.ts';
import { makeTestDatabase, type TestDatabase } from '#test/support/test-database.ts';

const sizes = [100, 1000] as const;
const worker = { group: '', drivers: ['fake-hardware'] };
const blocks: Record<'asked' | 'old', number[]> = { asked: [], old: [] };

let made: TestDatabase;
let database: Database;
beforeAll(async () => {
  made = await makeTestDatabase();
  database = await openDatabase({ url: made.url, dataDirectory: '', log: silentLog, isAlone: true });
  const client = new Client({ connectionString: made.url });
  await client.connect();
  let from = 0;
  for (const to of sizes) {
    await fillFleet(client, { from, to });
    blocks.asked.push(await readBlocks(database.db, selectAsked(database.db, worker)));
    blocks.old.push(await readBlocks(database.db, deleteOldFlows));
    from = to;
  }
  await client.end();
});
afterAll(async () => {
  await database.close();
  await made.drop();
});

test('nodes with a target are found among 1,000 as among 100', () => {
  const [few = 0, many = Number.NaN] = blocks.asked;
  expect(many).toBeLessThanOrEqual(few + 3);
});

test('old flows are looked for without reading flows', () => {
  const flows = sizes[1] * past.flows;
  expect(blocks.old[1]).toBeLessThan(flows / 20);
});
