import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { scrape } from '#conductor/kernel/metrics/scrape.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { createSecrets } from '#conductor/kernel/secrets/secrets.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { readConfig } from '#conductor/start/config.ts';
import { startWebhookDeliverer, type WebhookDeliverer } from '#conductor/webhooks/deliver.ts';
import { insertWebhook, listDeliveries } from '#conductor/webhooks/webhook-store.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { parseMetrics } from '#test/support/parse-metrics.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { startWebhookReceiver } from '#test/support/webhook-receiver.ts';

/** Two conductors empty one outbox on a real PostgreSQL. */

const perNode = 10;

test('each event is delivered by one of two conductors, those of a node in order', async () => {
  const server = await startPostgresql();
  const receiver = await startWebhookReceiver();
  const secrets = createSecrets([randomBytes(32)]);
  const contextOn = (name: string, database: Database) => ({
    db: database.db,
    database,
    config: readConfig({ BATON_CONDUCTOR_NAME: name }),
    secrets,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
  });
  const first = contextOn('one', await openDatabase({ url: server.url, dataDirectory: '' }));
  const second = contextOn('two', await openDatabase({ url: server.url, dataDirectory: '' }));
  const deliverers: WebhookDeliverer[] = [];
  try {
    const description = { name: 'hook', url: receiver.url, events: [], project: null };
    const { webhook, secret } = await insertWebhook(first, description, undefined);
    receiver.secret = secret;
    const base = { driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'enroll' } as const;
    const uuids = Array.from({ length: 20 }, () => randomUUID());
    await first.db.insert(nodes).values(uuids.map((uuid) => ({ ...base, uuid })));
    const note = async (nodeUuid: string): Promise<void> => {
      for (let number = 1; number <= perNode; number += 1) {
        await addHistory(first.db, {
          nodeUuid,
          severity: 'INFO',
          eventType: 'power',
          event: `event ${number}`,
          conductor: 'one',
          notify: { type: 'node.power_state', data: { number } },
        });
      }
    };
    await Promise.all(uuids.map(note));
    receiver.holdsUntil = 9; // each sends eight of them at once
    for (const conductor of [first, second]) deliverers.push(await startWebhookDeliverer(conductor));
    await first.db.transaction((tx) => notifyWebhooksOfAllocations(tx, uuids));

    const all = uuids.length * perNode;
    await expect.poll(() => receiver.events.length).toBeGreaterThanOrEqual(all);
    expect(receiver.events).toHaveLength(all);
    for (const uuid of uuids) {
      const numbers = receiver.events.filter(({ node }) => node?.uuid === uuid).map(({ data }) => data['number']);
      expect(numbers).toEqual(Array.from({ length: perNode }, (_, index) => index + 1));
    }
    const delivered = () =>
      listDeliveries(first.db, webhook.uuid, { state: 'delivered', before: undefined, limit: 999 });
    await expect.poll(async () => (await delivered()).length).toBe(all);

    const [one, two] = await Promise.all([first, second].map(async (each) => parseMetrics(await scrape(each))));
    const count = (samples: typeof one) => samples?.get('baton_webhook_deliveries_total{outcome="delivered"}') ?? 0;
    expect(count(one) + count(two)).toBe(all);
    expect(Math.min(count(one), count(two))).toBeGreaterThan(0);
    expect(one?.get('baton_nodes{provision_state="enroll",maintenance="false",conductor_group=""}')).toBe(20);
  } finally {
    for (const deliverer of deliverers) await deliverer.stop();
    await Promise.all([first, second].map(({ database }) => database.close()));
    await receiver.close();
    await server.close();
  }
});
