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

interface Enrolled {
  readonly deploys?: boolean;
  readonly owner?: string;
  readonly lessee?: string;
  readonly network?: string;
  readonly instanceInfo?: Record<string, string>;
}

/** A node whose ramdisk has called in. */
async function enrol(number: number, { deploys = true, network = 'rack', ...fields }: Enrolled = {}) {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  const address = `52:54:00:aa:bb:${number.toString(16).padStart(2, '0')}`;
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address, physical_network: network });
  const { db, secrets } = api.context;
  await db
    .update(nodes)
    .set({ instanceInfo: { image_checksum: image }, ...fields })
    .where(eq(nodes.uuid, uuid));
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

const b = 'b'.repeat(64);

test('a machine that says it deploys another image than its node is told nothing', async () => {
  const victim = await enrol(1, { instanceInfo: { image_checksum: b } });
  await ask(victim, 1, { image: b });
  const others: readonly Record<string, string>[] = [
    { image_checksum: image },
    { image_os_hash_algo: 'sha256', image_os_hash_value: image, image_checksum: b },
    {},
  ];
  for (const [at, instanceInfo] of others.entries()) {
    const uuid = await enrol(at + 2, { instanceInfo });
    const body = request(`token ${at + 2}`, { image: b });
    expect(await api.call('POST', `/v1/neighbours/${uuid}`, body)).toMatchObject({ status: 409 });
  }
  const same = await enrol(9, { instanceInfo: { image_checksum: ` ${b.toUpperCase()}` } });
  expect((await ask(same, 9, { image: b })).urls).toEqual(['https://192.0.2.1:40000']);
});

test('where a node names the URL of the checksum, those that name the same one learn of each other', async () => {
  await ask(await enrol(1), 1);
  const instanceInfo = { image_checksum: 'http://images.example/SHA256SUMS' };
  expect((await ask(await enrol(2, { instanceInfo }), 2)).urls).toEqual([]);
  expect((await ask(await enrol(3, { instanceInfo }), 3)).urls).toEqual(['https://192.0.2.2:40000']);
});

test("Nova's project parts machines of one owner, or of none; it lets nobody into another owner's group", async () => {
  const forProject = (id: string) => ({ instanceInfo: { image_checksum: image, project_id: id } });
  await ask(await enrol(1, forProject('p')), 1);
  expect((await ask(await enrol(2, forProject('q')), 2)).urls).toEqual([]);
  expect((await ask(await enrol(3, forProject('p')), 3)).urls).toEqual(['https://192.0.2.1:40000']);
  expect((await ask(await enrol(4, { owner: 'o', ...forProject('p') }), 4)).urls).toEqual([]);
  expect((await ask(await enrol(5, { owner: 'o', lessee: 'l' }), 5)).urls).toEqual([]);
  expect((await ask(await enrol(6, { owner: 'other', lessee: 'l' }), 6)).urls).toEqual(['https://192.0.2.5:40000']);
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
