import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeHistory } from '#conductor/kernel/db/schema/node.ts';
import { addHistory, listHistory } from '#conductor/nodes/node-history.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('keeps 300 entries of each node: the newest of what floods it, and all that is rare', async () => {
  const create = async () => (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' })).uuid;
  const [busy, quiet] = [await create(), await create()];
  await api.context.db.transaction(async (tx) => {
    for (let number = 1; number <= 310; number += 1) {
      const entry = { severity: 'INFO', eventType: 'power', conductor: 'c' } as const;
      await addHistory(tx, { nodeUuid: busy, event: `event ${number}`, ...entry });
    }
  });
  const rows = await api.context.db.select().from(nodeHistory);
  expect(rows.filter((row) => row.nodeUuid === busy)).toHaveLength(300);
  const events = (await listHistory(api.context.db, busy)).map((entry) => entry.event);
  const [created] = await listHistory(api.context.db, quiet);
  expect([events[0], events.at(-2), events.at(-1)]).toEqual(['event 310', 'event 12', created?.event]);
  expect(await listHistory(api.context.db, quiet)).toHaveLength(1);
  for (let number = 1; number <= 5; number += 1) {
    const entry = { severity: 'ERROR', eventType: 'provisioning', conductor: 'c' } as const;
    await addHistory(api.context.db, { nodeUuid: busy, event: `failure ${number}`, ...entry });
  }
  const after = await listHistory(api.context.db, busy);
  expect([after.length, after.at(-2)?.event, after.at(-1)?.event]).toEqual([300, 'event 17', created?.event]);
});
