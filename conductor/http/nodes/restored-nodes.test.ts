import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Nodes as `baton database restore` leaves them: in the middle of work that was under way when the dump was taken. */

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  ({ uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' }));
  await put('states/provision', { target: 'manage' });
  await setRow({ provisionState: 'wait call-back', targetProvisionState: 'active' });
  await setRow({ maintenance: true, maintenanceReason: 'restored', fault: 'restored' });
});

/** Sets a row as the dump has it, past the table of states. */
const setRow = (columns: Partial<NodeRow>) => api.context.db.update(nodes).set(columns).where(eq(nodes.uuid, uuid));

const put = (path: string, body?: unknown) => api.call('PUT', `/v1/nodes/n1/${path}`, body, 'latest');
const node = async () => (await api.call('GET', '/v1/nodes/n1')).body;
const flow = async () => (await api.call('GET', '/v1/nodes/n1/flow')).body;
const history = async () => {
  const { body } = await api.call('GET', '/v1/nodes/n1/history');
  return (body['history'] as { event: string }[]).map(({ event }) => event);
};
const endMaintenance = () => api.call('DELETE', '/v1/nodes/n1/maintenance');
const containing = (text: string) => expect.stringContaining(text) as unknown;

test.each(['abort', 'deleted', 'undeploy', 'rebuild', 'unhold'])("'%s' acts on no node of a dump", async (target) => {
  const before = await node();
  expect(await put('states/provision', { target })).toMatchObject({
    status: 400,
    fault: containing('nothing says what its machine does now'),
  });
  expect(await node()).toEqual(before);
  expect(await flow()).toMatchObject({ state: 'running' });
});

test('work that was under way goes on only once its agent has called in', async () => {
  expect(await endMaintenance()).toMatchObject({
    status: 409,
    fault: containing('in the middle of its verify, and no agent has called in since'),
  });
  await api.context.db.insert(agentSessions).values({ nodeUuid: uuid, token: 'sealed' });
  expect((await endMaintenance()).fault).toContain('`baton adopt n1` if an instance runs on it');
  const patched = await api.call('PATCH', '/v1/nodes/n1', [{ op: 'replace', path: '/maintenance', value: false }]);
  expect(patched.status).toBe(409);
  expect(await node()).toMatchObject({ maintenance: true, fault: 'restored' });
  await api.context.db.update(agentSessions).set({ lastHeartbeatAt: new Date() });
  expect((await endMaintenance()).status).toBe(202);
  expect(await node()).toMatchObject({ maintenance: false, fault: null, provision_state: 'wait call-back' });
});

test.each([
  ['adopt', 'active'],
  ['manage', 'manageable'],
])("'%s' is the operator's word: the flow ends, the node is %s, and nothing is begun", async (target, state) => {
  expect((await put('states/provision', { target })).status).toBe(202);
  const moved = { provision_state: state, target_provision_state: null, maintenance: true, fault: 'restored' };
  expect(await node()).toMatchObject({ ...moved, last_error: null });
  expect(await flow()).toMatchObject({ kind: 'verify', state: 'aborted' });
  expect(await history()).toEqual(
    expect.arrayContaining([
      `wait call-back → ${state}`,
      containing(`ended by the operator's '${target}' after a restore of the database`),
    ]),
  );
  expect((await endMaintenance()).status).toBe(202);
  expect(await node()).toMatchObject({ provision_state: state, maintenance: false, fault: null });
});

test('a node without flow is taken at the word, too, or left as the dump has it', async () => {
  await put('states/provision', { target: 'manage' });
  await setRow({ provisionState: 'available' });
  expect((await put('states/provision', { target: 'adopt' })).status).toBe(202);
  expect(await node()).toMatchObject({ provision_state: 'active' });
  expect((await endMaintenance()).status).toBe(202);
});

test('another reason for the maintenance leaves it a restored node', async () => {
  expect((await put('maintenance', { reason: 'I look at it' })).status).toBe(202);
  expect(await node()).toMatchObject({ maintenance_reason: 'I look at it', fault: 'restored' });
  await setRow({ targetProvisionState: null });
  await api.call('PATCH', '/v1/nodes/n1', [{ op: 'replace', path: '/maintenance', value: true }]);
  expect(await node()).toMatchObject({ maintenance: true, fault: 'restored' });
});

test('a maintenance that has ended, or is so already, is not news', async () => {
  await put('states/provision', { target: 'manage' });
  await endMaintenance();
  const before = await history();
  expect((await endMaintenance()).status).toBe(202);
  expect(await history()).toEqual(before);
  await put('maintenance', { reason: 'fan' });
  await put('maintenance', { reason: 'fan' });
  expect(await history()).toEqual([...before, 'maintenance on: fan']);
});
