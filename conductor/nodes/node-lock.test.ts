import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { claimLease, type Lease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
let lease: Lease | undefined;
beforeAll(async () => {
  api = await openTestApi({
    networks: { switches: [], networks: [{ name: 't', vlans: portVlans(10) }], defaults: undefined },
  });
});
beforeEach(async () => {
  await api.reset();
  const node = { driver: 'fake-hardware', name: 'n1', network_interface: 'switchport' };
  uuid = (await api.call('POST', '/v1/nodes', node)).uuid;
});
afterAll(() => api.close());

const hold = async () => {
  lease = await claimLease(api.context.db, uuid, { holder: 'other-host', leaseMs: 60_000 });
};

const port = () => api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:01' });

test('no operator changes a node, its ports, traits or networks while a conductor works on it', async () => {
  const { uuid: portUuid } = await port();
  await hold();
  const changes: [string, string, unknown?][] = [
    ['PATCH', '/v1/nodes/n1', []],
    ['DELETE', '/v1/nodes/n1'],
    ['PUT', '/v1/nodes/n1/states/power', { target: 'power on' }],
    ['PUT', '/v1/nodes/n1/states/provision', { target: 'manage' }],
    ['POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:02' }],
    ['PATCH', `/v1/ports/${portUuid}`, []],
    ['DELETE', `/v1/ports/${portUuid}`],
    ['PUT', '/v1/nodes/n1/traits', { traits: [] }],
    ['PUT', '/v1/nodes/n1/traits/CUSTOM_A'],
    ['DELETE', '/v1/nodes/n1/traits'],
    ['DELETE', '/v1/nodes/n1/traits/CUSTOM_A'],
    ['POST', '/v1/nodes/n1/vifs', { id: 't' }],
    ['DELETE', '/v1/nodes/n1/vifs/t'],
  ];
  for (const [method, path, body] of changes) {
    const { status, fault } = await api.call(method, path, body);
    expect(fault, `${method} ${path}`).toContain(`Node ${uuid} is locked by host other-host`);
    expect(status).toBe(409);
  }
});

test('waits for a conductor that is done soon', async () => {
  await hold();
  let sleeps = 0;
  const sleep = async (): Promise<void> => {
    sleeps += 1;
    if (sleeps === 2 && lease) await releaseLease(api.context.db, lease);
  };
  const context = { ...api.context, clock: { ...api.context.clock, sleep } };
  expect(await changeUnlocked(context, uuid, (_, node) => Promise.resolve(node.name))).toBe('n1');
  expect(sleeps).toBe(2);
});

test('what fails leaves neither a change nor a lease behind', async () => {
  const failing = changeUnlocked(api.context, uuid, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect((await port()).status).toBe(201);
  await expect(changeUnlocked(api.context, '11111111-1111-4111-8111-111111111111', port)).rejects.toThrow(
    'not be found',
  );
});
