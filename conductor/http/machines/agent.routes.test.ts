import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { createApp } from '#conductor/http/app.ts';
import { parseHeartbeat } from '#conductor/http/machines/agent.routes.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { silentLog } from '#shared/log.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:aa:bb:01' });
  await api.call('PUT', '/v1/nodes/n1/states/provision', { target: 'manage' });
});
afterAll(() => api.close());

const lookup = (query: string, version = '1.62') => api.call('GET', `/v1/lookup?${query}`, undefined, version);
const certificate = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const beat = {
  callback_url: 'https://192.0.2.1:9999',
  agent_version: '1.0',
  agent_token: 't',
  agent_verify_ca: certificate,
};

/** Verifying is not a state that a ramdisk runs in; the engine would have moved the node on. */
async function letRamdiskIn(): Promise<string> {
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' });
  const { body } = await lookup('addresses=52:54:00:AA:BB:01');
  return String((body['config'] as Record<string, unknown>)['agent_token']);
}

test('lookup: statuses and texts of Ironic', async () => {
  expect((await lookup('addresses=52:54:00:aa:bb:01', '1.21')).status).toBe(404);
  expect((await lookup('addresses=52:54:00:aa:bb:01', '')).status).toBe(404);
  expect(await lookup('addresses=52-54-00-aa-bb-01,zz')).toMatchObject({
    status: 400,
    fault: expect.stringMatching(/^At least one of 'addresses' and 'node_uuid'/) as unknown,
  });
  expect((await lookup('node_uuid=zz')).status).toBe(400);
  const hidden = { status: 404, fault: 'Resource could not be found.' };
  expect(await lookup('addresses=52:54:00:aa:bb:99')).toMatchObject(hidden);
  expect(await lookup('addresses=52:54:00:aa:bb:01')).toMatchObject(hidden);
  expect(await letRamdiskIn()).toMatch(/^[\w-]{43}$/);
});

test('lookup by cards of two nodes: no answer, and both histories say why, once, while one waits for a ramdisk', async () => {
  const other = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n2' });
  await api.call('POST', '/v1/ports', { node_uuid: other.uuid, address: '52:54:00:aa:bb:02' });
  const both = 'addresses=52:54:00:aa:bb:01,52:54:00:aa:bb:02';
  const histories = async (): Promise<readonly string[]> => {
    const of = async (node: string) => (await listHistory(api.context.db, node, 10)).map(({ event }) => event);
    return [...(await of(uuid)), ...(await of(other.uuid))].filter((event) => event.startsWith('a machine has asked'));
  };
  expect((await lookup(both)).status).toBe(404);
  expect(await histories()).toEqual([]);
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' }).where(eq(nodes.uuid, uuid));
  for (const _ of [1, 2])
    expect(await lookup(both)).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
  expect(await histories()).toEqual([
    expect.stringMatching(
      new RegExp(`of this node and of ${other.uuid}, so it got no answer: .*bb:01, 52:54:00:aa:bb:02; `),
    ),
    expect.stringContaining(`of this node and of ${uuid}, so`),
  ]);
  const warned: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void warned.push(line) };
  await createApp({ ...api.context, log }).request(`/v1/lookup?${both}`, {
    headers: { 'X-OpenStack-Ironic-API-Version': '1.62' },
  });
  const said = {
    nodes: expect.arrayContaining([uuid, other.uuid]) as unknown,
    addresses: expect.any(Array) as unknown,
  };
  expect(warned).toContainEqual([expect.objectContaining(said), expect.stringContaining('ports of several nodes')]);
});

test('lookup: the instance that boots learns nothing, though its node is still deploying', async () => {
  await letRamdiskIn();
  const { db } = api.context;
  await db.execute('delete from flows');
  await db.update(nodes).set({ provisionState: 'deploying' });
  await db.transaction((tx) =>
    insertFlow(tx, { nodeUuid: uuid, kind: 'deploy', steps: planSteps(flowKinds.deploy, { requested: [] }) }),
  );
  const step = (name: string) => db.update(flowSteps).set({ state: 'running' }).where(eq(flowSteps.step, name));
  await step('write_image');
  expect((await lookup('addresses=52:54:00:aa:bb:01')).status).toBe(200);
  await db.update(flowSteps).set({ state: 'succeeded' });
  await step('boot_instance');
  expect((await lookup('addresses=52:54:00:aa:bb:01')).status).toBe(404);
});

test('agents call themselves back where it is asked for', async () => {
  const { context } = api;
  const outbound = { ...context.config.outbound, agentsCallThemselves: true };
  const app = createApp({ ...context, config: { ...context.config, outbound } });
  const body = JSON.stringify({ ...beat, agent_token: await letRamdiskIn() });
  const from = async (remoteAddress: string) => {
    const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.68' };
    const incoming = { socket: { remoteAddress } };
    return (await app.request(`/v1/heartbeat/${uuid}`, { method: 'POST', headers, body }, { incoming })).status;
  };
  expect(await from('192.0.2.2')).toBe(400);
  expect(await from('::ffff:192.0.2.1')).toBe(202);
});

/** Makes the database note each of its selections. */
function noting<Db extends object>(db: Db, calls: string[]): Db {
  return new Proxy(db, {
    get: (target, key) => {
      if (key === 'select') calls.push(key);
      return Reflect.get(target, key, target) as unknown;
    },
  });
}

describe('heartbeat', () => {
  const send = (body: unknown, version = '1.68', ident = uuid) =>
    api.call('POST', `/v1/heartbeat/${ident}`, body, version);

  test('is accepted with the boot’s token, and nudges', async () => {
    const token = await letRamdiskIn();
    api.nudged.length = 0;
    expect((await send({ ...beat, agent_token: token })).status).toBe(202);
    expect(api.nudged).toEqual([uuid]);
    expect((await api.call('GET', '/v1/nodes/n1')).body['driver_internal_info']).toMatchObject({
      agent_url: beat.callback_url,
      agent_secret_token: '******',
    });
    expect(await send({ ...beat, agent_token: token, callback_url: 'https://192.0.2.2:9999' })).toMatchObject({
      status: 400,
      fault: 'Detected change in ramdisk provided "callback_url"',
    });
    expect(await send(beat)).toMatchObject({ status: 400, fault: 'Invalid or missing agent token received.' });
    // the machine's operator is told, once, however often it asks
    const httpCallback = { ...beat, agent_token: token, callback_url: 'http://192.0.2.1:9999' };
    for (const again of [1, 2]) expect([again, (await send(httpCallback)).status]).toEqual([again, 400]);
    // a stranger's words get nowhere
    for (const field of ['hello', 'x'.repeat(60_000)]) {
      expect((await send({ ...beat, [field]: 1 })).fault).toContain('Unexpected arguments: ');
    }
    const events = (await listHistory(api.context.db, uuid)).map(({ event }) => event);
    expect(events.filter((event) => event.startsWith('refused '))).toEqual([
      'refused heartbeat: it has fields that this conductor does not know, or lacks some. Its ramdisk is of another release than this conductor, or a stranger calls.',
      'refused heartbeat: TLS is required by configuration: callback_url must be an https:// URL. Boot a ramdisk whose agent has TLS, or set BATON_REQUIRE_AGENT_TLS=false.',
      expect.stringContaining(
        'refused heartbeat: Invalid or missing agent token received. A ramdisk of an earlier boot',
      ),
      expect.stringContaining('refused heartbeat: Detected change in ramdisk provided "callback_url"'),
    ]);
    expect((await send(beat, '1.21')).status).toBe(404);
    expect((await send(beat, '1.68', 'nope')).fault).toBe('Node nope could not be found.');
    const progress = { agent_token: token, command_id: uuid, progress: { phase: 'writing image' } };
    expect((await api.call('POST', `/v1/progress/${uuid}`, progress)).status).toBe(204);
    expect((await api.call('POST', `/v1/progress/${uuid}`, { ...progress, more: 1 })).status).toBe(400);
  });

  test('an agent that says again what it said is known, until its session is another boot’s', async () => {
    const token = await letRamdiskIn();
    const { db } = api.context;
    const again = { ...beat, agent_token: token };
    const statements: string[] = [];
    const app = createApp({ ...api.context, db: noting(db, statements) });
    const post = async (body: unknown) => {
      const headers = { 'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.68' };
      const options = { method: 'POST', headers, body: JSON.stringify(body) };
      return (await app.request(`/v1/heartbeat/${uuid}`, options)).status;
    };
    expect([await post(again), statements.length > 0]).toEqual([202, true]);
    statements.length = 0;
    expect([await post(again), statements]).toEqual([202, []]);
    expect(await post({ ...again, agent_token: 'another' })).toBe(400);
    expect(await post({ ...again, callback_url: 'https://192.0.2.9:9999' })).toBe(400);
    // the same token, sealed again, as after a change of keys: read again, and taken
    await db.update(agentSessions).set({ token: api.context.secrets.seal(token, nodePlace(uuid, 'agent_token')) });
    expect(await post(again)).toBe(202);
    await db.delete(agentSessions);
    expect(await post(again)).toBe(400);
  });

  test.each([
    [{ ...beat, bogus: 1 }, 68, 'Unexpected arguments: bogus'],
    [{ agent_version: '1' }, 68, 'Missing mandatory parameter: callback_url'],
    [beat, 67, 'Field "agent_verify_ca" not recognised in this version'],
    [{ ...beat, agent_verify_ca: null }, 61, 'Field "agent_token" not recognised'],
    [beat, 35, 'Field "agent_version" not recognised'],
    [{ ...beat, agent_status: 'end' }, 68, 'Fields "agent_status" and "agent_status_message" not recognised.'],
    [{ ...beat, agent_status: 'bad' }, 72, 'Agent status is invalid. Valid states are start,end,error.'],
  ])('refuses %j at 1.%i', (body, version, fault) => {
    expect(() => parseHeartbeat(body, version)).toThrow(fault);
  });
});

test.each(['https://169.254.169.254:9999', 'https://[fe80::1]:9999', 'https://0.0.0.0:9999'])(
  'heartbeat: an agent may not have the conductor call %s',
  async (callback_url) => {
    const agent_token = await letRamdiskIn();
    const answer = await api.call('POST', `/v1/heartbeat/${uuid}`, { ...beat, agent_token, callback_url }, '1.68');
    expect([answer.status, answer.fault]).toEqual([
      400,
      expect.stringMatching(
        /An issue with the supplied "callback_url" .*: loopback, link-local and metadata addresses/,
      ),
    ]);
  },
);
