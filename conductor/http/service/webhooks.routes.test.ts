import { afterAll, beforeAll, expect, test } from 'vitest';
import { webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const url = 'https://events.example/baton';

test('a webhook is created, shown, changed and deleted; its secret is told once and sealed at rest', async () => {
  const created = await api.call('POST', '/v1/webhooks', { name: 'pager', url, events: ['node.flow_failed'] });
  expect(created).toMatchObject({ status: 201, body: { name: 'pager', events: ['node.flow_failed'], project: null } });
  const secret = String(created.body['secret']);
  expect(secret).toMatch(/^whsec_/);
  expect(JSON.stringify(await api.context.db.select().from(webhooks))).not.toContain(secret);

  const shown = await api.call('GET', '/v1/webhooks/pager');
  expect(shown.body).toMatchObject({ uuid: created.uuid, secret: '******', url });
  const patch = [{ op: 'replace', path: '/events', value: ['node', 'allocation.state'] }];
  const changed = await api.call('PATCH', `/v1/webhooks/${created.uuid}`, patch);
  expect(changed.body).toMatchObject({ events: ['node', 'allocation.state'], secret: '******' });
  expect((await api.call('GET', '/v1/webhooks')).body['webhooks']).toHaveLength(1);
  expect((await api.call('POST', '/v1/webhooks', { name: 'pager', url })).status).toBe(409);
  expect((await api.call('DELETE', '/v1/webhooks/pager')).status).toBe(204);
  expect((await api.call('GET', '/v1/webhooks/pager')).fault).toContain('Webhook pager could not be found');
});

test.each([
  [{ url: 'ftp://events.example/' }, 400, 'url must be an http:// or https:// URL'],
  [{ url: 'http://169.254.169.254/latest' }, 403, 'BATON_WEBHOOK_URL_ALLOW'],
  [{ url: 'https://me:secret@events.example/' }, 400, 'must not have a login'],
  [{ events: ['node.power_stat'] }, 400, 'must be of node, allocation, site, node.provision_state'],
  [{ secret: 'short' }, 400, '24 to 64 random bytes'],
  [{ name: 'with space' }, 400, 'letters, digits'],
])('%j is refused', async (more, status, text) => {
  const answer = await api.call('POST', '/v1/webhooks', { name: 'wrong', url, ...more });
  expect([answer.status, answer.fault]).toEqual([status, expect.stringContaining(text)]);
});
