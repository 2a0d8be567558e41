import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodes } from '#conductor/db/schema/node.ts';
import { siteRevisions } from '#conductor/db/schema/site.ts';
import { siteActionNodes, siteActions } from '#conductor/db/schema/site-action.ts';
import { flowKinds } from '#conductor/flows/flow-kinds.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/flow-store.ts';
import { planSteps } from '#conductor/flows/plan-steps.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Nobody works on nodes here: what is to be broken off never comes to rest. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('a node whose abort hangs is in maintenance after ten minutes, and stays as it then is', async () => {
  const { db } = api.context;
  const nodeUuid = crypto.randomUUID();
  const action = { id: 'action-1', name: 'deploy_site', user: 'alice', revisionId: 1 };
  await db.insert(siteRevisions).values({ kind: 'upload' });
  await db.insert(siteActions).values({ id: action.id, name: 'deploy_site', revisionId: 1, contextMarker: 'x' });
  await db.insert(siteActionNodes).values({ actionId: action.id, name: siteNode.name });
  await db.insert(nodes).values({
    uuid: nodeUuid,
    name: siteNode.name,
    driver: 'fake-hardware',
    networkInterface: 'noop',
    provisionState: 'clean wait',
  });
  const steps = planSteps(flowKinds.clean, { requested: [] });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'clean', actionId: action.id, steps }));

  const site = {
    nodes: new Map([[siteNode.name, siteNode]]),
    strategy: { name: 'default', groups: [], max_parallel_groups: 1 },
    timeouts: { prepare: 1, deploy: 1 },
    plugins: [],
    etcdClusters: [],
  };
  const beat = async () => {
    const orders = [{ node: siteNode, phase: 'prepare' as const, cancel: 'group g took too long' }];
    return (await advanceNodes(api.context, { action, site, orders })).get(siteNode.name);
  };
  const row = async () => (await db.select().from(nodes).where(eq(nodes.uuid, nodeUuid)))[0];
  const cancelledAt = async () => (await db.select().from(siteActionNodes))[0]?.cancelledAt;

  expect(await beat()).toMatchObject({ state: 'working', doing: expect.stringContaining('breaking off') });
  expect(await findOpenFlow(db, nodeUuid)).toMatchObject({ state: 'aborting' });
  const since = await cancelledAt();
  expect(await beat()).toMatchObject({ state: 'working', doing: expect.stringContaining('breaking off') });
  expect(await cancelledAt()).toEqual(since);
  expect(await row()).toMatchObject({ maintenance: false });

  await db.update(siteActionNodes).set({ cancelledAt: sql`now() - interval '11 minutes'` });
  const error = expect.stringMatching(/^group g took too long; it did not come to rest within 10 minutes/);
  expect(await beat()).toEqual({ state: 'failed', error });
  expect(await row()).toMatchObject({ maintenance: true, maintenanceReason: error, provisionState: 'clean wait' });
  expect(await beat()).toEqual({ state: 'failed', error });
});
