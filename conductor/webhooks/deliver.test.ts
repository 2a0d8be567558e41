import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { webhookDeliveries, webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { addHistory, listHistory, notifyWebhooks } from '#conductor/nodes/node-history.ts';
import { claimDeliveries, pruneDeliveries } from '#conductor/webhooks/claim-deliveries.ts';
import { backOffSeconds, startWebhookDeliverer, type WebhookDeliverer } from '#conductor/webhooks/deliver.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
const receivedAt: number[] = [];
let answers: number[] = [];
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    receivedAt.push(Date.now());
    response.statusCode = answers.shift() ?? 204;
    response.end();
  });
});
let url: string;
beforeAll(async () => {
  api = await openTestApi();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await api.close();
});
beforeEach(async () => {
  await api.reset();
  await api.context.db.delete(webhooks);
  receivedAt.length = 0;
  answers = [];
});

const create = (more: Record<string, unknown> = {}) => api.call('POST', '/v1/webhooks', { name: 'hook', url, ...more });
const createNode = async (more: Record<string, unknown> = {}) =>
  (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', ...more })).uuid;
const outbox = () => api.context.db.select().from(webhookDeliveries).orderBy(webhookDeliveries.id);
const note = (nodeUuid: string, event: string) =>
  addHistory(api.context.db, {
    nodeUuid,
    severity: 'INFO',
    eventType: 'power',
    event,
    conductor: 'c',
    notify: { type: 'node.power_state', data: { event } },
  });

describe('the outbox', () => {
  test('without webhooks it stays empty', async () => {
    await note(await createNode(), 'on');
    expect(await outbox()).toEqual([]);
  });

  test('is written and undone with the transaction', async () => {
    await create();
    const node = await createNode();
    const work = api.context.db.transaction(async (tx) => {
      await notifyWebhooks(tx, node, { type: 'node.flow_started', data: {} }, {});
      throw new Error('undo');
    });
    await expect(work).rejects.toThrow('undo');
    expect(await outbox()).toEqual([]);
  });

  test('tells lessees what has happened, and not why', async () => {
    const { uuid: owners } = await create({ name: 'owners', project: 'a' });
    await create({ name: 'lessees', project: 'b' });
    const node = await createNode({ owner: 'a', lessee: 'b' });
    await api.context.db.delete(webhookDeliveries);
    const data = { flow: 'f', error: 'BMC refused', last_error: 'BMC refused' };
    await notifyWebhooks(api.context.db, node, { type: 'node.flow_failed', data }, {});
    for (const { webhookUuid, body } of await outbox()) {
      expect(body['data']).toEqual(webhookUuid === owners ? data : { flow: 'f' });
    }
    expect(await outbox()).toHaveLength(2);
  });

  test('holds what each webhook asks for, under the id that the history has', async () => {
    await create({ name: 'all' });
    await create({ name: 'power', events: ['node.power_state'] });
    await create({ name: 'nodes-of-a', events: ['node'], project: 'a' });
    await create({ name: 'allocations', events: ['allocation'] });
    const [mine, others] = [await createNode({ owner: 'a', name: 'one' }), await createNode({ owner: 'b' })];
    await api.context.db.delete(webhookDeliveries);
    await note(mine, 'on');
    await note(others, 'on');
    const row = { uuid: mine, name: 'x', owner: 'a', state: 'active', resourceClass: 'x' } as const;
    await api.context.db.transaction(async (tx) => {
      await tx.insert(allocations).values(row);
      await notifyWebhooksOfAllocations(tx, [mine]);
    });
    const rows = await outbox();
    const names = new Map((await api.context.db.select().from(webhooks)).map((row) => [row.uuid, row.name]));
    const seen = rows.map(
      (row) => `${names.get(row.webhookUuid)} ${row.eventType} ${row.subject === mine ? 'mine' : ''}`,
    );
    expect(seen.toSorted()).toEqual([
      'all allocation.state mine',
      'all node.power_state ',
      'all node.power_state mine',
      'allocations allocation.state mine',
      'nodes-of-a node.power_state mine',
      'power node.power_state ',
      'power node.power_state mine',
    ]);
    const first = rows.find((row) => row.subject === mine);
    const node = { uuid: mine, name: 'one' };
    expect(first?.body).toMatchObject({ type: 'node.power_state', node, data: { event: 'on' } });
    const [entry] = await listHistory(api.context.db, mine);
    expect([first?.eventId, first?.body['event_id']]).toEqual([entry?.uuid, entry?.uuid]);
  });

  test('gives out the first event of each node only, and none twice', async () => {
    const { uuid } = await create();
    const [one, two] = [await createNode(), await createNode()];
    await api.context.db.delete(webhookDeliveries);
    for (const event of ['1', '2']) for (const node of [one, two]) await note(node, event);
    const { db } = api.context;
    const claimed = [...(await claimDeliveries(db, 'c', uuid, 10)), ...(await claimDeliveries(db, 'c', uuid, 10))];
    const got = claimed.map(({ subject, body }) => `${subject} ${(body['data'] as { event: string }).event}`);
    expect(new Set(got)).toEqual(new Set([`${one} 1`, `${two} 1`]));
    expect(got).toHaveLength(2);
  });
});

describe('the deliverer', () => {
  let deliverer: WebhookDeliverer | undefined;
  const start = async (giveUpMs = 86_400_000) => {
    const { config } = api.context;
    const webhookConfig = { ...config.webhooks, giveUpMs };
    deliverer = await startWebhookDeliverer({ ...api.context, config: { ...config, webhooks: webhookConfig } });
    return async () => deliverer?.stop();
  };

  test('gives up what is not taken in time, and goes on with the next', async () => {
    const { uuid } = await create();
    const node = await createNode();
    await api.context.db.delete(webhookDeliveries);
    await note(node, 'first');
    await note(node, 'second');
    answers = [500];
    const stop = await start(0);
    await expect.poll(async () => (await outbox()).map((row) => row.state)).toEqual(['given up', 'delivered']);
    await stop();
    const list = await api.call('GET', `/v1/webhooks/${uuid}/deliveries?state=given+up`);
    expect(list.body['deliveries']).toMatchObject([{ attempts: 1, last_status: 500, last_error: 'answered 500' }]);
    await pruneDeliveries(api.context);
    expect(await outbox()).toHaveLength(2);
  });

  test('what an earlier life of this conductor was at is delivered at once', async () => {
    const { uuid } = await create();
    const node = await createNode();
    await api.context.db.delete(webhookDeliveries);
    await note(node, 'one');
    expect(await claimDeliveries(api.context.db, api.context.config.conductorName, uuid, 1)).toHaveLength(1);
    const stop = await start();
    await expect.poll(async () => (await outbox())[0]?.state, { timeout: 30_000 }).toBe('delivered');
    await stop();
  });

  test('redirects are not followed, and nothing of an answer is kept', async () => {
    await create();
    const node = await createNode();
    await api.context.db.delete(webhookDeliveries);
    await note(node, 'one');
    answers = Array<number>(100).fill(302); // however often it is tried until it is looked at
    const stop = await start();
    await expect.poll(async () => (await outbox())[0]?.lastError).toBe('answered 302');
    await stop();
    const [row] = await outbox();
    expect(row?.state).toBe('pending');
    expect(row?.nextAttemptAt.getTime()).toBeGreaterThan((receivedAt[0] ?? Infinity) + 500);
  });
});

test('tries come less and less often', () => {
  const middle = (attempts: number) => backOffSeconds(attempts, 0.5);
  expect([1, 2, 3, 9, 10, 50].map(middle)).toEqual([2, 4, 8, 512, 600, 600]);
});
