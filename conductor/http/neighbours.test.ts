import { createPublicKey, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { NeighboursAnswer, openTicket } from '#shared/wire/neighbours.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const image = 'a'.repeat(64);
const request = (token: string, fields = {}) => ({
  agent_token: token,
  image,
  port: 40_000,
  certificate_sha256: 'c'.repeat(64),
  ...fields,
});

/** A node whose ramdisk has called in; `owner`: its project. */
async function enrol(number: number, { deploys = true, owner = null as string | null, network = 'rack' } = {}) {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  const address = `52:54:00:aa:bb:${number.toString(16).padStart(2, '0')}`;
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address, physical_network: network });
  const { db, secrets } = api.context;
  await db.update(nodes).set({ owner }).where(eq(nodes.uuid, uuid));
  if (deploys) {
    await db.insert(flows).values({ uuid: randomUUID(), nodeUuid: uuid, kind: 'deploy', state: 'running' });
  }
  const token = secrets.seal(`token ${number}`, nodePlace(uuid, 'agent_token'));
  await db.insert(agentSessions).values({ nodeUuid: uuid, token, callbackUrl: `https://192.0.2.${number}:9999` });
  return uuid;
}

async function ask(uuid: string, number: number, fields = {}) {
  const { status, body } = await api.call('POST', `/v1/neighbours/${uuid}`, request(`token ${number}`, fields));
  expect(status).toBe(200);
  const answer = NeighboursAnswer.parse(body);
  return { ...answer, urls: answer.neighbours.map(({ url }) => url) };
}

test('machines that deploy an image for a project, in one network, learn of each other, and of no others', async () => {
  const same = [await enrol(1, { owner: 'p' }), await enrol(2, { owner: 'p' })] as const;
  const elsewhere = [await enrol(3, { owner: 'q' }), await enrol(4, { owner: 'p', network: 'other' })] as const;
  for (const [at, uuid] of elsewhere.entries()) expect((await ask(uuid, at + 3)).urls).toEqual([]);
  expect((await ask(same[0], 1)).urls).toEqual([]);
  const second = await ask(same[1], 2);
  expect(second.urls).toEqual(['https://192.0.2.1:40000']);
  expect((await ask(same[0], 1, { port: 40_001 })).urls).toEqual(['https://192.0.2.2:40000']);
  expect((await ask(same[1], 2, { image: 'b'.repeat(64) })).urls).toEqual([]);

  const key = createPublicKey(second.public_key);
  const ticket = openTicket(second.ticket, key, new Date());
  const stranger = await ask(elsewhere[0], 3);
  expect(ticket).toMatchObject({ url: 'https://192.0.2.2:40000', certificate_sha256: 'c'.repeat(64) });
  expect(openTicket(stranger.ticket, key, new Date())?.group).not.toBe(ticket?.group);
  // after a restart of the conductor, and from another one, the key is the same, and nobody is known
  const app = createApp(api.context);
  const answer = await app.request(`/v1/neighbours/${same[0]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request('token 1')),
  });
  expect(NeighboursAnswer.parse(await answer.json())).toMatchObject({ public_key: second.public_key, neighbours: [] });
});

test.each([
  ['with another token', { agent_token: 'token 2' }, 400],
  ['without one', { agent_token: undefined }, 400],
  ['with no digest', { image: '../../x' }, 400],
  ['with a port that is none', { port: 0 }, 400],
  ['with more', { more: 1 }, 400],
])('%s nothing is told', async (_how, fields, status) => {
  const uuid = await enrol(1);
  expect(await api.call('POST', `/v1/neighbours/${uuid}`, request('token 1', fields))).toMatchObject({ status });
});

test('a machine that is not being deployed is told nothing, nor anybody where it is switched off', async () => {
  const idle = await enrol(1, { deploys: false });
  expect(await api.call('POST', `/v1/neighbours/${idle}`, request('token 1'))).toMatchObject({ status: 409 });
  const uuid = await enrol(2);
  const app = createApp({ ...api.context, config: { ...api.context.config, imageNeighbours: false } });
  const answer = await app.request(`/v1/neighbours/${uuid}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request('token 2')),
  });
  expect(answer.status).toBe(403);
});
