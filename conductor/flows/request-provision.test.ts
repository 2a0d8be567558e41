import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { saveAgentSteps } from '#conductor/agents/agent-steps-store.ts';
import { anybody } from '#conductor/auth/caller.ts';
import { flows } from '#conductor/db/schema/flow.ts';
import { type NodeInsert, nodes } from '#conductor/db/schema/node.ts';
import { insertFlow } from '#conductor/flows/flow-store.ts';
import { requestProvision } from '#conductor/flows/request-provision.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { deleteConfigDrive, getNode, readConfigDrive, saveConfigDrive } from '#conductor/nodes/node-store.ts';
import { openConfigDrive, openNodeDocument, sealConfigDrive } from '#conductor/secrets/node-secrets.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  const node = {
    driver: 'fake-hardware',
    deploy_interface: 'direct',
    name: 'n1',
    properties: { capabilities: 'boot_mode:bios' },
  };
  uuid = (await api.call('POST', '/v1/nodes', node)).uuid;
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:01' });
});

const set = (change: Partial<NodeInsert>) => api.context.db.update(nodes).set(change).where(eq(nodes.uuid, uuid));
const ask = (target: string, more = {}) => api.call('PUT', '/v1/nodes/n1/states/provision', { target, ...more });
const state = async () => (await api.call('GET', '/v1/nodes/n1')).body['provision_state'];

test.each(['deleted', 'undeploy', 'rebuild'])('a protected node refuses %s, and says why', async (verb) => {
  await set({ provisionState: 'active', protected: true, protectedReason: 'production' });
  expect(await ask(verb)).toMatchObject({
    status: 403,
    fault: `Node ${uuid} is protected and cannot be undeployed, rebuilt or deleted: production.`,
  });
  expect(await state()).toBe('active');
});

test('an impossible verb is to be tried again while a conductor works on the node', async () => {
  await set({ provisionState: 'verifying', targetProvisionState: 'manageable' });
  const lease = await claimLease(api.context.db, uuid, { holder: 'other-host', leaseMs: 60_000 });
  expect(await ask('provide')).toMatchObject({
    status: 409,
    fault: `Node ${uuid} is locked by host other-host, please retry after the current operation is completed.`,
  });
  if (lease) await releaseLease(api.context.db, lease);
  expect(await ask('provide')).toMatchObject({ status: 400 });
});

test('a retired node is not provided', async () => {
  await set({ provisionState: 'manageable', retired: true });
  expect(await ask('provide')).toMatchObject({
    status: 400,
    fault: `The provide operation can't be performed on node ${uuid} because it is retired.`,
  });
  expect(await state()).toBe('manageable');
});

describe('a wipe', () => {
  const wipe = { preserve_local_storage: true };
  const latest = async () => {
    const { body } = await api.call('GET', '/v1/nodes/n1/flow');
    return { kind: body['kind'], steps: (body['steps'] as { step: string }[]).map(({ step }) => step) };
  };
  const owe = (preserveLocalStorage: boolean, more: Partial<NodeInsert> = {}) =>
    set({ provisionState: 'manageable', owedWipe: { preserveLocalStorage }, ...more });
  const owed = async () => (await api.call('GET', '/v1/nodes/n1')).body['driver_internal_info'];
  const endFlow = (ended: 'succeeded' | 'failed') =>
    api.context.db.update(flows).set({ state: ended, endedAt: new Date() });

  test('takes the place of cleaning, also where there is none', async () => {
    await set({ provisionState: 'manageable', automatedClean: false });
    expect(await ask('provide', { wipe })).toMatchObject({ status: 202 });
    expect(await latest()).toEqual({
      kind: 'wipe',
      steps: ['boot_ramdisk', 'wipe_disks', 'tear_down_agent', 'leave_network', 'sign_receipt'],
    });
    const [flow] = await api.context.db.select().from(flows);
    expect(flow?.wipe).toEqual({ preserveLocalStorage: true });
  });

  test('goes with what ends an instance or gives a node, and with nothing else', async () => {
    await set({ provisionState: 'available' });
    expect(await ask('active', { wipe })).toMatchObject({
      status: 400,
      fault: "wipe: it goes with target deleted, undeploy, provide, not with 'active'.",
    });
    await set({ provisionState: 'active' });
    expect(await ask('deleted', { wipe })).toMatchObject({ status: 202 });
    const [flow] = await api.context.db.select().from(flows);
    expect(flow).toMatchObject({ kind: 'teardown', wipe: { preserveLocalStorage: true } });
  });

  test('is owed from the request on, whatever flows there are, or are no longer', async () => {
    await set({ provisionState: 'active' });
    expect(await ask('deleted', { wipe })).toMatchObject({ status: 202 });
    expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: true } });
    expect((await latest()).steps).toEqual(['power_off', 'leave_network', 'release_instance', 'owe_wipe']);
    await endFlow('failed');
    await api.context.db.delete(flows);
    await set({ provisionState: 'manageable' });
    expect(await ask('provide')).toMatchObject({ status: 202 });
    expect((await latest()).kind).toBe('wipe');
  });

  test('is no step of a release that no wipe follows', async () => {
    await set({ provisionState: 'active' });
    expect(await ask('deleted')).toMatchObject({ status: 202 });
    expect((await latest()).steps).not.toContain('owe_wipe');
    expect(await owed()).toEqual({});
  });

  test('that is owed outlives an adoption, and keeps anything from being deployed', async () => {
    await owe(false);
    expect(await ask('adopt')).toMatchObject({ status: 202 });
    await endFlow('failed');
    for (const [from, verb] of [
      ['error', 'rebuild'],
      ['available', 'active'],
      ['deploy failed', 'rebuild'],
    ] as const) {
      await set({ provisionState: from });
      expect(await ask(verb)).toMatchObject({
        status: 409,
        fault: expect.stringContaining('owes a wipe of all its disks') as unknown,
      });
    }
    expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: false } });
    await set({ provisionState: 'error' });
    expect(await ask('deleted')).toMatchObject({ status: 202 });
    const [flow] = await api.context.db.select().from(flows).where(eq(flows.kind, 'teardown'));
    expect(flow?.wipe).toEqual({ preserveLocalStorage: false });
  });

  test('of all disks is not paid by one that preserves some, and the other way round', async () => {
    await owe(false);
    expect(await ask('provide', { wipe })).toMatchObject({
      status: 409,
      fault: expect.stringContaining('local storage can not be preserved any more') as unknown,
    });
    await owe(true);
    expect(await ask('provide', { wipe: { preserve_local_storage: false } })).toMatchObject({ status: 202 });
    expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: false } });
  });

  test('that is owed keeps the node from being forgotten, but in maintenance', async () => {
    await owe(true);
    expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({
      status: 409,
      fault: expect.stringContaining('`baton provide n1` wipes it') as unknown,
    });
    await set({ maintenance: true });
    expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({ status: 204 });
  });

  test('that is owed is done on a retired node, too', async () => {
    await owe(true, { retired: true });
    expect(await ask('provide')).toMatchObject({ status: 202 });
    expect((await latest()).kind).toBe('wipe');
  });

  test('that is asked for is done on a retired node', async () => {
    await set({ provisionState: 'manageable', retired: true });
    expect(await ask('provide', { wipe })).toMatchObject({ status: 202 });
  });

  test('is what a plan shows where it is owed, and its hash goes with the request', async () => {
    await saveAgentSteps(api.context.db, { nodeUuid: uuid, kind: 'clean', steps: [], hardwareManagerVersion: {} });
    await owe(false);
    const { body } = await api.call('POST', '/v1/nodes/n1/plan', { target: 'provide' });
    expect(body).toMatchObject({
      kind: 'wipe',
      warnings: expect.arrayContaining([expect.stringContaining('has not come to its end')]) as unknown,
    });
    expect(await ask('provide', { plan_hash: '0'.repeat(64) })).toMatchObject({ status: 409 });
    expect(await ask('provide', { plan_hash: body['hash'] })).toMatchObject({ status: 202 });
    expect((await latest()).kind).toBe('wipe');
  });
});

test('a node that leaves its clusters is not deleted, and takes no verb but abort', async () => {
  await set({ provisionState: 'available' });
  await api.context.db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'leave_cluster', steps: [] }));
  const underWay = expect.stringContaining('its leave_cluster is under way') as unknown;
  expect(await ask('manage')).toMatchObject({ status: 409, fault: underWay });
  expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({ status: 409, fault: underWay });
  expect(await ask('abort')).toMatchObject({ status: 202 });
});

test('a rescue password is hashed before anything is locked', async () => {
  await set({ provisionState: 'active' });
  const node = await getNode(api.context.db, uuid);
  const transaction = vi.spyOn(api.context.db, 'transaction');
  const readAfter: number[] = [];
  try {
    await requestProvision(api.context, node, {
      caller: anybody,
      verb: 'rescue',
      get rescuePassword() {
        readAfter.push(transaction.mock.calls.length);
        return 'let me in';
      },
    });
    expect([readAfter, transaction.mock.calls.length]).toEqual([[0], 1]);
  } finally {
    transaction.mockRestore();
  }
  const { instanceInfo } = await getNode(api.context.db, uuid);
  expect(String(instanceInfo['hashed_rescue_password'])).toMatch(/^sealed:/);
  const opened = openNodeDocument(testSecrets, { uuid, instanceInfo }, 'instanceInfo');
  expect(opened['hashed_rescue_password']).toMatch(/^\$6\$/);
});

describe('the config drive', () => {
  const image = {
    image_source: 'http://x/demo.raw',
    image_os_hash_algo: 'sha256',
    image_os_hash_value: 'a'.repeat(64),
  };
  const deployAgain = async (more = {}) => {
    await api.context.db.execute('delete from flows');
    await set({ provisionState: 'deploy failed', targetProvisionState: null });
    const { status, fault } = await ask('active', more);
    expect(fault).toBeUndefined();
    expect(status).toBe(202);
    return openConfigDrive(testSecrets, uuid, await readConfigDrive(api.context.db, uuid));
  };
  beforeEach(() => set({ instanceInfo: image }));

  test('stays for a deploy that is repeated without one', async () => {
    expect(await deployAgain({ configdrive: 'http://x/one' })).toBe('http://x/one');
    expect(await deployAgain()).toBe('http://x/one');
    expect(await deployAgain({ configdrive: 'http://x/two' })).toBe('http://x/two');
  });

  test('is taken from instance_info when the request has none, and never shown', async () => {
    await api.call('PATCH', '/v1/nodes/n1', [
      { op: 'add', path: '/instance_info/configdrive', value: 'http://x/patched' },
    ]);
    const { body } = await api.call('GET', '/v1/nodes/n1');
    expect(body['instance_info']).toMatchObject({ configdrive: '******' });
    expect(await deployAgain()).toBe('http://x/patched');
    expect(await deployAgain({ configdrive: 'http://x/requested' })).toBe('http://x/requested');
    expect(await deployAgain()).toBe('http://x/requested');
  });
});

describe('a plan that was read', () => {
  const read = async () => String((await api.call('POST', '/v1/nodes/n1/plan', {})).body['hash']);
  const image = {
    image_source: 'http://x/demo.raw',
    image_os_hash_algo: 'sha256',
    image_os_hash_value: 'a'.repeat(64),
  };
  const askAgent = () =>
    saveAgentSteps(api.context.db, { nodeUuid: uuid, kind: 'deploy', steps: [], hardwareManagerVersion: {} });
  beforeEach(() => set({ instanceInfo: image, provisionState: 'available' }));

  test('before the ramdisk was asked is not complete, and refused with words', async () => {
    expect(await ask('active', { plan_hash: await read() })).toMatchObject({
      status: 409,
      fault: expect.stringMatching(/no plan of it is complete. Inspect or clean the node first/) as unknown,
    });
    expect(await state()).toBe('available');
  });

  test('with an image of its own is that of the node with this image, and changes nothing', async () => {
    await askAgent();
    const before = await read();
    const change = { image_source: 'http://x/other.raw', image_os_hash_algo: null, image_checksum: 'http://x/SUMS' };
    const { body } = await api.call('POST', '/v1/nodes/n1/plan', { instance_info: change });
    expect(await read()).toBe(before);
    const { image_os_hash_algo: _, ...kept } = image;
    await set({ instanceInfo: { ...kept, ...change, image_os_hash_algo: undefined }, provisionState: 'available' });
    expect(body['hash']).toBe(await read());
    expect(body['hash']).not.toBe(before);
  });

  test.each<[string, Partial<NodeInsert>]>([
    ['the size of a partition', { instanceInfo: { ...image, root_gb: 10 } }],
    ['the type of the image', { instanceInfo: { ...image, image_type: 'partition' } }],
    ['what is preserved', { instanceInfo: { ...image, preserve_ephemeral: true } }],
    ['its kernel', { instanceInfo: { ...image, kernel: 'http://x/vmlinuz' } }],
    ['a config drive in the instance', { instanceInfo: { ...image, configdrive: 'http://x/theirs' } }],
    ['the target RAID', { targetRaidConfig: { logical_disks: [{ size_gb: 'MAX', raid_level: '1' }] } }],
    ['the skip list', { properties: { capabilities: 'boot_mode:bios', skip_block_devices: [{ name: '/dev/sda' }] } }],
  ])('is another when %s has changed since', async (_, change) => {
    await askAgent();
    const hash = await read();
    await set(change);
    expect(await read()).not.toBe(hash);
  });

  test('is another when somebody has left a config drive; the request’s own is no change', async () => {
    await askAgent();
    const hash = await read();
    await saveConfigDrive(api.context.db, uuid, sealConfigDrive(testSecrets, uuid, 'http://x/theirs'));
    expect(await ask('active', { plan_hash: hash })).toMatchObject({ status: 409 });
    await deleteConfigDrive(api.context.db, uuid);
    expect(await ask('active', { plan_hash: hash, configdrive: 'http://x/mine' })).toMatchObject({ status: 202 });
    const [flow] = await api.context.db.select().from(flows);
    // what the ramdisk's plan is compared with has the config drive in it
    expect(flow?.planHash).toBe(await read());
  });
});
