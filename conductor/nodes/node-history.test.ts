import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodeHistory } from '#conductor/kernel/db/schema/node.ts';
import { addHistory, listHistory } from '#conductor/nodes/node-history.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('keeps the newest 300 entries of each node', async () => {
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
  expect([events[0], events.at(-1)]).toEqual(['event 310', 'event 11']);
  expect(await listHistory(api.context.db, quiet)).toHaveLength(1);
});
