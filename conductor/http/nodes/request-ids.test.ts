import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { finishFlow } from '#conductor/flows/engine/finish-flow.ts';
import { workOnNode } from '#conductor/flows/engine/node-worker.ts';
import { findLatestFlow, findOpenFlow, insertFlow } from '#conductor/flows/log/flow-store.ts';
import { answerBoot } from '#conductor/flows/network/boot-answers.ts';
import { getAction } from '#conductor/flows/site-actions/action-store.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { webhookDeliveries, webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { forgetActions } from '#conductor/sites/actions/testing/action-lab.ts';
import { siteCaller } from '#conductor/sites/nodes/node-order.ts';
import { startBeside } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { createLog } from '#shared/log.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** One id leads from a client through history, events, flows and the log. */

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await forgetActions(api.context);
  await api.reset();
  await api.context.db.delete(webhooks);
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

const globalId = 'req-11111111-2222-4333-8444-555555555555';
const never = new AbortController().signal;
const manage = async (sent?: string): Promise<string> => {
  const headers = sent === undefined ? {} : { 'X-OpenStack-Request-ID': sent };
  const answer = await api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'manage' }, undefined, headers);
  expect(answer.status).toBe(202);
  return answer.headers.get('X-OpenStack-Request-ID') ?? '';
};
const historyOf = async (query: string) =>
  (await api.call('GET', `/v1/nodes/n1/history?detail=true${query}`)).body['history'] as Record<string, unknown>[];

test("what a request sets going has its id, and its client's: flow, log, events, history", async () => {
  await api.call('POST', '/v1/webhooks', { name: 'hook', url: 'http://127.0.0.1:9/events' });
  const id = await manage(globalId);
  const lines: string[] = [];
  const log = createLog({ component: 'test', level: 'debug', only: { write: (line) => lines.push(line) } });
  expect(await workOnNode({ ...api.context, log }, uuid, never)).toBe('done');

  const ids = { request_id: id, global_request_id: globalId };
  expect((await api.call('GET', '/v1/nodes/n1/flow')).body).toMatchObject({
    kind: 'verify',
    state: 'succeeded',
    ...ids,
  });
  const ofFlow = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => 'flow' in line);
  expect(ofFlow.map(({ msg }) => msg)).toEqual(
    expect.arrayContaining(['step started', 'step succeeded', 'flow ended']),
  );
  const without = ofFlow.filter((line) => line['requestId'] !== id || line['globalRequestId'] !== globalId);
  expect(without).toEqual([]);

  const bodies = (await api.context.db.select().from(webhookDeliveries)).map(({ body }) => body);
  const types = ['node.provision_state', 'node.flow_started', 'node.flow_succeeded'];
  expect(bodies.map(({ type }) => type)).toEqual(expect.arrayContaining(types));
  expect(bodies.filter((body) => body['request_id'] !== id || body['global_request_id'] !== globalId)).toEqual([]);

  const moves = (await historyOf('&request_ids=true')).slice(1);
  expect(moves.length).toBeGreaterThanOrEqual(3);
  for (const entry of moves) expect(entry).toMatchObject(ids);
  // as Ironic's clients know it
  for (const entry of await historyOf('')) expect(Object.keys(entry)).not.toContain('request_id');
});

test('a flow under way is listed with its ids; a header that is no id is none', async () => {
  const id = await manage('somebody; own');
  const { body } = await api.call('GET', '/v1/flows');
  expect(body['flows']).toMatchObject([{ node_name: 'n1', request_id: id, global_request_id: null }]);
});

test('a step that fails says of which request', async () => {
  await api.call('POST', '/v1/webhooks', {
    name: 'hook',
    url: 'http://127.0.0.1:9/events',
    events: ['node.step_failed'],
  });
  const ids = { requestId: 'req-a', globalRequestId: 'req-b' };
  const steps = [
    { interface: 'deploy', step: 'no_such_step', priority: 0, args: {}, origin: 'core', reason: '' } as const,
  ];
  const rest = { inBand: false, abortable: false, rebootRequested: false };
  await api.context.db.update(nodes).set({ provisionState: 'deploying' });
  await api.context.db.transaction((tx) =>
    insertFlow(tx, { nodeUuid: uuid, kind: 'deploy', ...ids, steps: steps.map((step) => ({ ...step, ...rest })) }),
  );
  await workOnNode(api.context, uuid, never);
  const [failed] = await api.context.db.select().from(webhookDeliveries);
  expect(failed?.body).toMatchObject({ request_id: 'req-a', global_request_id: 'req-b' });
  const last = (await historyOf('&request_ids=true')).filter(({ severity }) => severity === 'ERROR');
  expect(last.length).toBeGreaterThanOrEqual(2);
  for (const entry of last) expect(entry).toMatchObject({ request_id: 'req-a' });
});

test('the ramdisk that iPXE boots for a flow calls by the id of its client, else of the request', async () => {
  const address = '52:54:00:00:00:09';
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  const { db } = api.context;
  await db.update(nodes).set({ provisionState: 'cleaning' });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'clean', requestId: globalId, steps: [] }));
  expect(await answerBoot(api.context, address)).toMatchObject({ kind: 'ramdisk', globalRequestId: globalId });
  const script = () =>
    api.request(`/boot/node.ipxe?mac=${address.replaceAll(':', '-')}`).then((answer) => answer.text());
  expect(await script()).toContain(` ipa-global-request-id=${globalId} `);
  await db.update(flows).set({ requestId: null });
  expect(await script()).toMatch(/ipa-api-url(?!.*request-id)/);
});

test('cleaning that follows the release of an instance is of the same request', async () => {
  const { db } = api.context;
  const ids = { requestId: 'req-a', globalRequestId: globalId };
  await db.update(nodes).set({ provisionState: 'deleting' });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'teardown', ...ids, steps: [] }));
  const lease = await claimLease(db, uuid, { holder: 'test-host', leaseMs: 60_000 });
  const flow = await findOpenFlow(db, uuid);
  if (!lease || !flow) throw new Error('no lease or no flow');
  await finishFlow(api.context, { lease, node: await getNode(db, uuid), flow, steps: [] });
  expect(await findOpenFlow(db, uuid)).toMatchObject({ kind: 'clean', ...ids });
});

test('an action has the ids of the request that made it, and gives them to the flows of its nodes', async () => {
  const { db } = api.context;
  const yaml = { 'Content-Type': 'application/x-yaml' };
  await api.call('POST', '/api/v1.0/configdocs/nodes?buffermode=replace', nodeDocument('n1'), '', yaml);
  await api.call('POST', '/api/v1.0/commitconfigdocs', undefined, '');
  await api.call('POST', '/v1/webhooks', { name: 'hook', url: 'http://127.0.0.1:9/events', events: ['site'] });
  const sent = { 'X-OpenStack-Request-ID': globalId };
  const made = await api.call('POST', '/api/v1.0/actions', { name: 'verify_site' }, '', sent);
  const requestId = made.headers.get('X-OpenStack-Request-ID');
  expect(made.status).toBe(201);
  const action = await getAction(db, String(made.body['id']));
  expect(action).toMatchObject({ requestId, globalRequestId: globalId });
  const [event] = await db.select().from(webhookDeliveries);
  expect(event?.body).toMatchObject({ type: 'site.action', request_id: requestId, global_request_id: globalId });

  await db.update(nodes).set({ provisionState: 'active' }).where(eq(nodes.uuid, uuid));
  const request = { caller: siteCaller(action), actionId: undefined, actionToken: undefined, seen: undefined };
  await startBeside(api.context, await getNode(db, uuid), { kind: 'decommission', steps: [], ...request });
  expect(await findLatestFlow(db, uuid)).toMatchObject({ requestId, globalRequestId: globalId });
  await db.delete(flows).where(eq(flows.nodeUuid, uuid));
});
