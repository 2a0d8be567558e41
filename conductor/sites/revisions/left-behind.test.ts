import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { describeLeftBehind } from '#conductor/sites/revisions/left-behind.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('deployed nodes that no document has are named, until they are undeployed', async () => {
  const { db } = api.context;
  const deployed = async (name: string): Promise<void> => {
    const made = await api.call('POST', '/v1/nodes', { name, driver: 'fake-hardware' });
    const nodeUuid = String(made.body['uuid']);
    const instanceUuid = crypto.randomUUID();
    await db.update(nodes).set({ instanceUuid }).where(eq(nodes.uuid, nodeUuid));
    await db.insert(siteNodes).values({ name, nodeUuid, instanceUuid, revisionId: 1, designHash: '', actionId: 'a' });
  };
  await deployed('n1');
  await deployed('n2');
  expect(await describeLeftBehind(db, new Set(['n1', 'n2', 'n3']))).toBeUndefined();
  expect(await describeLeftBehind(db, new Set(['n3']))).toBe(
    '2 deployed nodes are in no document any more: n1, n2; they stay as they are (baton undeploy frees a node)',
  );
  await db.update(nodes).set({ instanceUuid: null }).where(eq(nodes.name, 'n1'));
  expect(await describeLeftBehind(db, new Set(['n3']))).toBe(
    '1 deployed node is in no document any more: n2; it stays as it is (baton undeploy frees a node)',
  );
});
