import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { claimLease, holdLease, type Lease } from '#conductor/nodes/node-lease.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  ({ uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1', automated_clean: true }));
});

const provision = (target: string) => api.call('PUT', '/v1/nodes/n1/states/provision', { target });
const node = async () => (await api.call('GET', '/v1/nodes/n1')).body;

/** A conductor waits for the node's BMC. */
async function claim(): Promise<Lease> {
  const lease = await claimLease(api.context.db, uuid, { holder: 'other', leaseMs: 60_000 });
  if (!lease) throw new Error('somebody has it');
  return lease;
}
const holds = (lease: Lease) => api.context.db.transaction((tx) => holdLease(tx, lease));

test('a flow that only reads is aborted beside the conductor that waits for the BMC, which records nothing more', async () => {
  await provision('manage');
  const lease = await claim();
  expect((await provision('abort')).status).toBe(202);
  expect(await node()).toMatchObject({ provision_state: 'enroll', reservation: null });
  expect((await api.call('GET', '/v1/nodes/n1/flow')).body).toMatchObject({ kind: 'verify', state: 'aborted' });
  await expect(holds(lease)).rejects.toThrow('was taken over');
  // it may be tried again at once
  expect((await provision('manage')).status).toBe(202);
});

test('any other flow is asked to end: by the conductor that is at it, whose lease stays', async () => {
  await provision('manage');
  await api.context.db.execute(`update nodes set provision_state = 'clean wait'`);
  await api.context.db.execute(`update flows set kind = 'clean'`);
  const lease = await claim();
  expect((await provision('abort')).status).toBe(202);
  expect(await node()).toMatchObject({ provision_state: 'clean wait', reservation: 'other' });
  const { body: flow } = await api.call('GET', '/v1/nodes/n1/flow');
  expect(flow).toMatchObject({ kind: 'clean', state: 'running' });
  await holds(lease);
});

test('in maintenance a node is deleted, also while a conductor works on it', async () => {
  await provision('manage');
  const lease = await claim();
  expect((await api.call('DELETE', '/v1/nodes/n1')).status).toBe(409);
  await holds(lease);
  await api.call('PUT', '/v1/nodes/n1/maintenance', {});
  expect((await api.call('DELETE', '/v1/nodes/n1')).status).toBe(204);
  await expect(holds(lease)).rejects.toThrow('was taken over');
});
