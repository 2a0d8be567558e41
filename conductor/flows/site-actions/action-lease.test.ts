import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import { addAction, asked } from '#conductor/flows/site-actions/testing/add-action.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { FlowRequest } from '#conductor/model/flows/flow-states.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { actOnNode } from '#conductor/sites/nodes/act-on-node.ts';
import type { NodeAct } from '#conductor/sites/nodes/node-decision.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { requestLeaveCluster } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { siteNode, teardownOrder } from '#conductor/sites/nodes/testing/node-cases.ts';
import { siteOf } from '#test/support/fake-site.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A conductor has decided on something just before its action was paused, stopped, taken over. */

const id = 'A';
const token = 3;
const caller = { user: 'tester', project: undefined, via: undefined };
let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
  await api.context.db.update(nodes).set({ provisionState: 'manageable' });
  await api.context.db.delete(siteActions);
});

async function becomes(request: FlowRequest): Promise<void> {
  await addAction(api.context.db, { id, name: 'redeploy_server', token, flow: asked[request] });
}
const isFlow = async () => (await findOpenFlow(api.context.db, uuid))?.kind;

test.each([
  ['hold', 'site action A is paused'],
  ['abort', 'site action A is stopped'],
] as const)('once %s was accepted no act of a teardown is begun', async (request, why) => {
  await becomes(request);
  const { context } = api;
  const node = await getNode(context.db, uuid);
  const asked = { caller, actionId: id, actionToken: token };
  const refused = { code: 'conflict', retryable: true, message: why };
  const wipe = { preserveLocalStorage: false };
  await expect(requestProvision(context, node, { ...asked, verb: 'provide', wipe })).rejects.toMatchObject(refused);
  const leaving = requestLeaveCluster(context, node, { ...asked, notInClusterOk: false });
  await expect(leaving).rejects.toMatchObject(refused);
  expect(await isFlow()).toBeUndefined();
  // what belongs to the phase of a deploy, or breaks it off
  await requestProvision(context, node, { ...asked, verb: 'provide' });
  expect(await isFlow()).toBe('clean');
});

test('while it goes on, only by whom it belongs to', async () => {
  await becomes('run');
  const { db } = api.context;
  await db.transaction((tx) => requireAction(tx, { actionId: id, token, isTeardown: true }));
  const late = db.transaction((tx) => requireAction(tx, { actionId: id, token: token - 1, isTeardown: false }));
  await expect(late).rejects.toMatchObject({ code: 'lease_lost' });
});

/** Acts as a beat that has read the action's row before. */
async function actOn(act: NodeAct, teardown?: TeardownOrder, held = token): Promise<void> {
  const order = { node: siteNode, phase: 'prepare' as const, ...(teardown ? { teardown } : {}) };
  const action = { id, name: 'redeploy_server', revisionId: 1, token: held };
  const work = { action, site: siteOf([siteNode]), pluginSteps: () => Promise.resolve([]) };
  const node = await getNode(api.context.db, uuid);
  return actOnNode(api.context, work, { order, facts: { node }, design: undefined }, act);
}
const stateNow = async () => (await getNode(api.context.db, uuid)).provisionState;

test('a node becomes available while its action is paused when that ends its phase, and of a teardown not', async () => {
  await becomes('hold');
  const makeAvailable = { kind: 'make available', reserves: false } as const;
  const refused = { code: 'conflict', message: 'site action A is paused' };
  await expect(actOn(makeAvailable, teardownOrder)).rejects.toMatchObject(refused);
  expect(await stateNow()).toBe('manageable');
  await actOn(makeAvailable);
  expect(await stateNow()).toBe('available');
});

test('a node is forgotten, and leaves the pool to be wiped, only while its action goes on', async () => {
  const { db } = api.context;
  const manage = { kind: 'verb', verb: 'manage' } as const;
  await db.update(nodes).set({ provisionState: 'available' });
  for (const request of ['hold', 'abort'] as const) {
    await db.delete(siteActions);
    await becomes(request);
    const refused = { code: 'conflict', retryable: true };
    await expect(actOn({ kind: 'remove' }, teardownOrder)).rejects.toMatchObject(refused);
    await expect(actOn(manage, teardownOrder)).rejects.toMatchObject(refused);
    expect(await stateNow()).toBe('available');
  }
  await db.update(flows).set(asked.run).where(eq(flows.siteActionId, id));
  await expect(actOn({ kind: 'remove' }, teardownOrder, token - 1)).rejects.toMatchObject({ code: 'lease_lost' });
  await actOn(manage, teardownOrder);
  expect(await stateNow()).toBe('manageable');
  await actOn({ kind: 'remove' }, teardownOrder);
  await expect(stateNow()).rejects.toMatchObject({ code: 'not_found' });
});
