import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import { giveBootSecrets } from '#conductor/flows/network/boot-answers.ts';
import { createApp } from '#conductor/http/app.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { listBootEvents } from '#conductor/nodes/boot/boot-event-store.ts';
import { eventually } from '#test/support/eventually.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The token that a machine's iPXE fetches, against strangers on its network. */

let api: TestApi;
let uuid: string;
const [mac, otherMac] = ['52:54:00:aa:bb:01', '52:54:00:aa:bb:02'];
const machine = { mac, source: '192.0.2.9' };
const stranger = '192.0.2.66';

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
  for (const address of [mac, otherMac]) await api.call('POST', '/v1/ports', { node_uuid: uuid, address });
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' });
});
afterAll(() => api.close());

/** The token that is given, if one is. */
async function give(client: { readonly mac: string; readonly source: string }): Promise<string | undefined> {
  const [parameter] = (await giveBootSecrets(api.context, client)) ?? [];
  return parameter?.replace('ipa-agent-token=', '');
}

const lookUp = (token: string | undefined, addresses = mac) =>
  api.call(
    'GET',
    `/v1/lookup?addresses=${addresses}`,
    undefined,
    '1.62',
    token === undefined ? {} : { 'X-Baton-Boot-Token': token },
  );
const tokenOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
  (body['config'] as { readonly agent_token?: string } | undefined)?.agent_token;

const beat = (token: string | undefined) =>
  api.call(
    'POST',
    `/v1/heartbeat/${uuid}`,
    {
      callback_url: 'https://192.0.2.9:9999',
      agent_version: '1.0',
      agent_token: token,
      agent_verify_ca: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
    },
    '1.68',
  );

describe('the token of a boot', () => {
  test('is given once, again only to the same card at the same address, and not once the agent has called in', async () => {
    const token = await give(machine);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(await give(machine)).toBe(token);
    expect(await give({ ...machine, source: stranger })).toBeUndefined();
    expect(await give({ ...machine, mac: otherMac })).toBeUndefined();
    expect((await beat(token)).status).toBe(202);
    expect(await give(machine)).toBeUndefined();
    const { body } = await api.call('GET', '/v1/nodes/n1/history');
    expect(JSON.stringify(body)).toContain("52:54:00:aa:bb:01 at 192.0.2.9 has fetched this boot's token");
  });

  test('is served to machines, which have no login', async () => {
    const answer = await api.request('/boot/secrets.img?mac=52-54-00-aa-bb-01');
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('ipa-agent-token=')]);
    expect((await api.request('/boot/secrets.img?mac=52-54-00-aa-bb-02')).status).toBe(404);
  });

  test('is another in the next boot', async () => {
    const first = await give(machine);
    await api.context.db.delete(agentSessions);
    const second = await give({ ...machine, source: '192.0.2.10' });
    expect(second).toMatch(/^[\w-]{43}$/);
    expect(second).not.toBe(first);
  });

  test('is not for machines that boot no ramdisk, boot it from a CD, or are not known', async () => {
    expect(await give({ ...machine, mac: '52:54:00:ff:ff:ff' })).toBeUndefined();
    await api.context.db.update(nodes).set({ provisionState: 'active' });
    expect(await give(machine)).toBeUndefined();
    await api.context.db
      .update(nodes)
      .set({ provisionState: 'clean wait', interfaces: { boot: 'redfish-virtual-media' } });
    expect(await give(machine)).toBeUndefined();
    expect(await findAgentSession(api.context.db, uuid)).toBeUndefined();
  });
});

describe('a lookup', () => {
  test('is refused without the token that the boot was given, or from another card, as for no node', async () => {
    const token = await give(machine);
    const unknown = await lookUp(undefined, '52:54:00:ff:ff:ff');
    for (const refused of [
      await lookUp(undefined),
      await lookUp('x'.repeat(43)),
      await lookUp(token, otherMac),
      await api.call('GET', `/v1/lookup?node_uuid=${uuid}`, undefined, '1.62'),
    ]) {
      expect([refused.status, refused.body]).toEqual([404, unknown.body]);
    }
    const found = await lookUp(token, `${otherMac},${mac}`);
    expect([found.status, tokenOf(found)]).toEqual([200, '******']);
    // the flow's boot shows it, so that no advice blames what comes before it
    const seen = () => listBootEvents(api.context.db, uuid, { since: new Date(0), until: null });
    await eventually(async () => expect((await seen()).map(({ event }) => event)).toEqual(['refused', 'lookup']));
    expect((await seen())[0]?.detail).toContain("lookup: it lacks this boot's token");
    expect((await beat(token)).status).toBe(202);
  });

  test('before the machine asks gets a stranger a token that is worth nothing afterwards', async () => {
    const stolen = tokenOf(await lookUp(undefined));
    const token = await give(machine);
    expect([stolen === token, (await beat(stolen)).status]).toEqual([false, 400]);
    expect((await beat(token)).status).toBe(202);
  });

  test('is answered as ever in a boot that was given none: an ironic-python-agent of its own', async () => {
    const token = tokenOf(await lookUp(undefined));
    expect(token).toMatch(/^[\w-]{43}$/);
    expect((await beat(token)).status).toBe(202);
    // who asks for one afterwards does not take the machine over
    expect(await give(machine)).toBeUndefined();
  });

  test('is never answered without one where BATON_REQUIRE_BOOT_TOKEN is set', async () => {
    const { context } = api;
    const app = createApp({ ...context, config: { ...context.config, requireBootToken: true } });
    const ask = async (headers: Readonly<Record<string, string>>) =>
      (
        await app.request(`http://api.example/v1/lookup?addresses=${mac}`, {
          headers: { 'X-OpenStack-Ironic-API-Version': '1.62', ...headers },
        })
      ).status;
    expect(await ask({})).toBe(404);
    expect(await ask({ 'X-Baton-Boot-Token': 'x'.repeat(43) })).toBe(404);
    expect(await findAgentSession(context.db, uuid)).toBeUndefined();
    expect(await ask({ 'X-Baton-Boot-Token': (await give(machine)) ?? '' })).toBe(200);
  });
});
