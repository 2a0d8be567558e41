import { sql } from 'drizzle-orm';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { selectAsked } from '#conductor/flows/engine/scheduler.ts';
import { deleteOldFlows } from '#conductor/flows/log/flow-store.ts';
import { readWork } from '#conductor/flows/log/read-work.ts';
import { type Database, openDatabase, type Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
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
  // all begin at once, sooner than PostgreSQL counts how many are open
  await client.query(`insert into flows (uuid, node_uuid, kind, state)
    select gen_random_uuid(), uuid, 'clean', 'waiting' from nodes`);
  await client.query(`insert into agent_sessions (node_uuid, token) select uuid, 'sealed' from nodes`);
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

test.each([
  ['one of 1,000 open flows is read', (db: Queryable, [uuid = '']: readonly string[]) => readWork(db, uuid), 1],
  [
    'heartbeats of 20 read the flows of 20, beside 1,000 open ones',
    (db: Queryable, uuids: readonly string[]) => {
      const heartbeats = createHeartbeatStore(db);
      const beat = (nodeUuid: string) =>
        heartbeats.store({
          nodeUuid,
          token: 'sealed',
          callbackUrl: 'https://192.0.2.1:9999',
          version: null,
          certificate: null,
        });
      return Promise.all(uuids.map(beat));
    },
    // found, locked and changed
    3 * 20,
  ],
])('%s', async (_, act, most) => {
  const uuids = rowsOf(await database.db.execute(sql`select uuid from nodes limit 20`)) as readonly { uuid: string }[];
  await database.db.transaction(async (tx) => {
    // the session's transactions of the last second count, too, until PostgreSQL has passed them on
    const before = await countRead(tx);
    const result = await act(
      tx,
      uuids.map(({ uuid }) => uuid),
    );
    expect(result).toBeTruthy();
    const read = (await countRead(tx)) - before;
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThanOrEqual(most);
  });
});

/** Rows of flows that the session has read and not reported yet. */
async function countRead(tx: Queryable): Promise<number> {
  const [read] = rowsOf(
    await tx.execute(sql`select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
      from pg_stat_xact_user_tables where relname = 'flows'`),
  ) as readonly { rows: number }[];
  return read?.rows ?? Number.NaN;
}
