import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertFlow, listDueNodes, makeOpenFlowsDue, pruneFlows, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('keeps the newest 20 ended flows of each node, and every open one', async () => {
  const { db } = api.context;
  const add = async (nodeUuid: string, endedAt: Date | undefined): Promise<string> => {
    const steps = planSteps(flowKinds.verify, { requested: [] });
    const uuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'verify', steps }));
    if (endedAt) await updateFlow(db, uuid, { state: 'succeeded', endedAt });
    return uuid;
  };
  const create = async () => (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' })).uuid;
  const [busy, quiet] = [await create(), await create()];
  const ended: string[] = [];
  for (let second = 1; second <= 23; second += 1) ended.push(await add(busy, new Date(second * 1000)));
  const others = [await add(busy, undefined), await add(quiet, new Date(0))];

  await pruneFlows(api.context);
  const left = (await db.select().from(flows)).map((flow) => flow.uuid);
  expect(left.toSorted()).toEqual([...ended.slice(3), ...others].toSorted());
  expect(await db.select().from(flowSteps)).toHaveLength(left.length);
});

test('of what is due the held ones come last, however long they have been due', async () => {
  const { db } = api.context;
  await db.delete(flows);
  const add = async (held: string | null, dueSeconds: number): Promise<string> => {
    const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
    const steps = planSteps(flowKinds.verify, { requested: [] });
    const uuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'verify', steps }));
    const nextCheckAt = sql`now() - make_interval(secs => ${dueSeconds})`;
    await db.update(flows).set({ held, nextCheckAt }).where(eq(flows.uuid, uuid));
    return nodeUuid;
  };
  const held = [await add('node is in maintenance', 500), await add('node is in maintenance', 400)];
  const free = [await add(null, 2), await add(null, 1)];
  const due = (limit: number) => listDueNodes(db, { group: '', drivers: ['fake-hardware'], limit });
  expect(await due(2)).toEqual(free);
  expect(await due(4)).toEqual([...free, ...held]);
});

test.each([
  ['7200 seconds', 7200, 3600],
  ['10 seconds', 0, 3600],
])(
  'a conductor that starts %s after the last look adds %i seconds to what a step may wait',
  async (away, added, left) => {
    const { db } = api.context;
    const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
    const steps = planSteps(flowKinds.verify, { requested: [] });
    const flowUuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'verify', steps }));
    const lookedAt = sql`now() - ${away}::interval`;
    await db.update(flows).set({ nextCheckAt: lookedAt }).where(eq(flows.uuid, flowUuid));
    const waitUntil = new Date(Date.now() + left * 1000);
    await db.update(flowSteps).set({ state: 'waiting', waitUntil }).where(eq(flowSteps.flowUuid, flowUuid));

    await Promise.all([makeOpenFlowsDue(db), makeOpenFlowsDue(db), makeOpenFlowsDue(db)]);
    await makeOpenFlowsDue(db);
    const [step] = await db.select().from(flowSteps).where(eq(flowSteps.flowUuid, flowUuid));
    const seconds = ((step?.waitUntil?.getTime() ?? 0) - waitUntil.getTime()) / 1000;
    expect(seconds).toBeGreaterThanOrEqual(added);
    expect(seconds).toBeLessThan(added + 1800);
  },
);
