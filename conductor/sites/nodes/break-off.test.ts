import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findOpenFlow, insertFlow } from '#conductor/flows/log/flow-store.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { addAction } from '#conductor/flows/site-actions/testing/add-action.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import { siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { defaultSettings } from '#conductor/sites/documents/configuration-document.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Nobody works on nodes here: what is to be broken off never comes to rest. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  await api.context.db.delete(siteActions);
});

const action = { id: 'action-1', name: 'deploy_site', user: 'alice', revisionId: 1 };
const site = {
  nodes: new Map([[siteNode.name, siteNode]]),
  strategy: { name: 'default', groups: [], max_parallel_groups: 1 },
  timeouts: { prepare: 1, deploy: 1 },
  plugins: [],
  etcdClusters: [],
  settings: defaultSettings,
};

async function beat(context: ConductorContext = api.context) {
  const orders = [{ node: siteNode, phase: 'prepare' as const, cancel: 'group g took too long' }];
  return (await advanceNodes(context, { action, site, orders })).get(siteNode.name);
}

/** In the middle of a cleaning of the action, which is to be broken off. */
async function addCleaningNode(): Promise<string> {
  const { db } = api.context;
  const nodeUuid = crypto.randomUUID();
  await db.insert(siteRevisions).values({ kind: 'upload' });
  await addAction(db, { id: action.id });
  await db.insert(siteActionNodes).values({ actionId: action.id, name: siteNode.name, cancelledAt: sql`now()` });
  await db.insert(nodes).values({
    uuid: nodeUuid,
    name: siteNode.name,
    driver: 'fake-hardware',
    networkInterface: 'noop',
    provisionState: 'clean wait',
  });
  const steps = planSteps(flowKinds.clean, { requested: [] });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'clean', actionId: action.id, steps }));
  return nodeUuid;
}

test('a node whose abort hangs is in maintenance after ten minutes, and stays as it then is', async () => {
  const { db } = api.context;
  const nodeUuid = await addCleaningNode();
  const row = async () => (await db.select().from(nodes).where(eq(nodes.uuid, nodeUuid)))[0];
  const version = () => db.select({ xmin: sql<string>`xmin::text` }).from(siteActionNodes);

  expect(inWords(await beat())).toMatchObject({ state: 'working', doing: expect.stringContaining('breaking off') });
  expect(await findOpenFlow(db, nodeUuid)).toMatchObject({ state: 'aborting' });
  const written = await version();
  expect(inWords(await beat())).toMatchObject({ state: 'working', doing: expect.stringContaining('breaking off') });
  // one row for each node, at each beat, would be much for nothing
  expect(await version()).toEqual(written);
  expect(await row()).toMatchObject({ maintenance: false });

  await db.update(siteActionNodes).set({ cancelledAt: sql`now() - interval '11 minutes'` });
  const error = expect.stringMatching(/^group g took too long; it did not come to rest within 10 minutes/);
  expect(inWords(await beat())).toEqual({ state: 'failed', error });
  expect(await row()).toMatchObject({
    maintenance: true,
    maintenanceReason: error,
    provisionState: 'clean wait',
  });
  expect(inWords(await beat())).toEqual({ state: 'failed', error });
});

test('a node whose abort is refused for a moment has not failed while its flow goes on', async () => {
  const { context } = api;
  const nodeUuid = await addCleaningNode();
  const goTo = (provisionState: 'cleaning' | 'clean wait') =>
    context.db.update(nodes).set({ provisionState }).where(eq(nodes.uuid, nodeUuid));
  // a step begins and ends between what the beat reads before the request and after it
  const db = new Proxy(context.db, {
    get: (target, key) => {
      if (key !== 'transaction') return Reflect.get(target, key);
      return async (...given: Parameters<typeof target.transaction>) => {
        await goTo('cleaning');
        try {
          return await target.transaction(...given);
        } finally {
          await goTo('clean wait');
        }
      };
    },
  });
  expect(await beat({ ...context, db })).toMatchObject({ state: 'working' });
  expect(await beat()).toMatchObject({ state: 'working' });
  expect(await findOpenFlow(context.db, nodeUuid)).toMatchObject({ state: 'aborting' });
});
