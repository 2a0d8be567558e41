import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { saveAgentSteps } from '#conductor/agents/ask-agent.ts';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import { admit, noFlow } from '#conductor/flows/request/admit.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import { startWork } from '#conductor/flows/request/start-work.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeInsert } from '#conductor/kernel/db/schema/node.ts';
import { openConfigDrive, openNodeDocument, sealConfigDrive } from '#conductor/kernel/secrets/node-secrets.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { deleteConfigDrive, getNode, readConfigDrive, saveConfigDrive } from '#conductor/nodes/node-store.ts';
import { type AskedNode, addAskedNode } from '#test/support/asked-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let api: TestApi;
let node: AskedNode;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  node = await addAskedNode(api);
});

test.each(['deleted', 'undeploy', 'rebuild'])('a protected node refuses %s, and says why', async (verb) => {
  await node.set({ provisionState: 'active', protected: true, protectedReason: 'production' });
  expect(await node.ask(verb)).toMatchObject({
    status: 403,
    fault: `Node ${node.uuid} is protected and cannot be undeployed, rebuilt or deleted: production.`,
  });
  expect(await node.state()).toBe('active');
});

test('an impossible verb is to be tried again while a conductor works on the node', async () => {
  await node.set({ provisionState: 'verifying', targetProvisionState: 'manageable' });
  const lease = await claimLease(api.context.db, node.uuid, { holder: 'other-host', leaseMs: 60_000 });
  expect(await node.ask('provide')).toMatchObject({
    status: 409,
    fault: `Node ${node.uuid} is locked by host other-host, please retry after the current operation is completed.`,
  });
  if (lease) await releaseLease(api.context.db, lease);
  expect(await node.ask('provide')).toMatchObject({ status: 400 });
});

test('a retired node is not provided', async () => {
  await node.set({ provisionState: 'manageable', retired: true });
  expect(await node.ask('provide')).toMatchObject({
    status: 400,
    fault: `The provide operation can't be performed on node ${node.uuid} because it is retired.`,
  });
  expect(await node.state()).toBe('manageable');
});

test('a node that leaves its clusters is not deleted, and takes no verb but abort', async () => {
  await node.set({ provisionState: 'available' });
  await api.context.db.transaction((tx) => insertFlow(tx, { nodeUuid: node.uuid, kind: 'leave_cluster', steps: [] }));
  const underWay = expect.stringContaining('its leave_cluster is under way') as unknown;
  expect(await node.ask('manage')).toMatchObject({ status: 409, fault: underWay });
  expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({ status: 409, fault: underWay });
  expect(await node.ask('abort')).toMatchObject({ status: 202 });
});

test('a node that was moved meanwhile is a conflict, which nobody has to wait for behind a plan', async () => {
  await node.set({ provisionState: 'available' });
  const seen = await getNode(api.context.db, node.uuid);
  await node.set({ provisionState: 'manageable' });
  const request = { verb: 'active', caller: openApiCaller, planHash: 'any' } as const;
  const facts = { holder: undefined, cleansByItself: true, found: 'none', flow: noFlow } as const;
  const { work } = admit(seen, request, facts);
  if (!work) throw new Error('not admitted');
  // vitest fails for a rejection that is nobody's, be it for a moment
  await expect(
    api.context.db.transaction((tx) => startWork(api.context, tx, seen, { request, work, flow: undefined })),
  ).rejects.toMatchObject({
    code: 'conflict',
    message: `node ${node.uuid} has left state 'available' in the meantime`,
  });
});

test('a rescue password is hashed before anything is locked', async () => {
  await node.set({ provisionState: 'active' });
  const row = await getNode(api.context.db, node.uuid);
  const transaction = vi.spyOn(api.context.db, 'transaction');
  const readAfter: number[] = [];
  try {
    await requestProvision(api.context, row, {
      caller: openApiCaller,
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
  const { instanceInfo } = await getNode(api.context.db, node.uuid);
  expect(String(instanceInfo['hashed_rescue_password'])).toMatch(/^sealed:/);
  const opened = openNodeDocument(testSecrets, { uuid: node.uuid, instanceInfo }, 'instanceInfo');
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
    await node.set({ provisionState: 'deploy failed', targetProvisionState: null });
    const { status, fault } = await node.ask('active', more);
    expect(fault).toBeUndefined();
    expect(status).toBe(202);
    return openConfigDrive(testSecrets, node.uuid, await readConfigDrive(api.context.db, node.uuid));
  };
  beforeEach(() => node.set({ instanceInfo: image }));

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
    saveAgentSteps(api.context.db, { nodeUuid: node.uuid, kind: 'deploy', steps: [], hardwareManagerVersion: {} });
  beforeEach(() => node.set({ instanceInfo: image, provisionState: 'available' }));

  test('before the ramdisk was asked is not complete, and refused with words', async () => {
    expect(await node.ask('active', { plan_hash: await read() })).toMatchObject({
      status: 409,
      fault: expect.stringMatching(/no plan of it is complete. Inspect or clean the node first/) as unknown,
    });
    expect(await node.state()).toBe('available');
  });

  test('with an image of its own is that of the node with this image, and changes nothing', async () => {
    await askAgent();
    const before = await read();
    const change = { image_source: 'http://x/other.raw', image_os_hash_algo: null, image_checksum: 'http://x/SUMS' };
    const { body } = await api.call('POST', '/v1/nodes/n1/plan', { instance_info: change });
    expect(await read()).toBe(before);
    const { image_os_hash_algo: _, ...kept } = image;
    await node.set({
      instanceInfo: { ...kept, ...change, image_os_hash_algo: undefined },
      provisionState: 'available',
    });
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
    await node.set(change);
    expect(await read()).not.toBe(hash);
  });

  test('is another when somebody has left a config drive; the request’s own is not a change', async () => {
    await askAgent();
    const hash = await read();
    await saveConfigDrive(api.context.db, node.uuid, sealConfigDrive(testSecrets, node.uuid, 'http://x/theirs'));
    expect(await node.ask('active', { plan_hash: hash })).toMatchObject({ status: 409 });
    await deleteConfigDrive(api.context.db, node.uuid);
    expect(await node.ask('active', { plan_hash: hash, configdrive: 'http://x/mine' })).toMatchObject({ status: 202 });
    const [flow] = await api.context.db.select().from(flows);
    // what the ramdisk's plan is compared with has the config drive in it
    expect(flow?.planHash).toBe(await read());
  });
});
