import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import { addAction } from '#conductor/flows/site-actions/testing/add-action.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { configDrives, nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { insertVif, listVifs } from '#conductor/nodes/ports/port-store.ts';
import { defaultSettings } from '#conductor/sites/documents/configuration-document.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import { deployNode } from '#conductor/sites/nodes/deploy-node.ts';
import { siteCaller } from '#conductor/sites/nodes/node-order.ts';
import { readDesigns } from '#conductor/sites/nodes/read-design.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';
import { writesImage } from '#conductor/sites/nodes/testing/writes-image.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A deploy is asked for with what the site says; nobody works on nodes here. */

let api: TestApi;
beforeAll(async () => {
  const networks = ['provisioning', 'blue', 'red'].map((name, index) => ({ name, vlans: portVlans(100 + index) }));
  api = await openTestApi({
    networks: {
      switches: [{ switchId: 's1', driver: 'ovs', endpoint: 'unix:/nowhere' }],
      networks,
      defaults: { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'red' },
    },
  });
});
afterAll(() => api.close());
beforeEach(() => api.reset());

const address = '52:54:00:08:00:01';
const document: SiteNode = {
  ...siteNode,
  driver: 'redfish',
  driverInfo: { redfish_address: 'http://127.0.0.1:9' },
  properties: { capabilities: 'boot_mode:bios' },
  instanceInfo: { image_source: 'http://images.example/a.raw', image_checksum: 'a'.repeat(64) },
  configDrive: { user_data: '#!/bin/sh' },
  ports: [{ address, pxeEnabled: true, network: 'blue' }],
};
const action = { id: 'action-1', name: 'deploy_site', user: 'alice', revisionId: 1 };

/** Prepared by the site; its instance before had another network and another image. */
async function addPreparedNode(): Promise<string> {
  const { db } = api.context;
  const uuid = crypto.randomUUID();
  const allocationUuid = crypto.randomUUID();
  await db.insert(allocations).values({
    uuid: allocationUuid,
    name: document.name,
    state: 'active',
    resourceClass: 'big',
    nodeUuid: uuid,
    actionId: action.id,
  });
  await db.insert(nodes).values({
    uuid,
    name: document.name,
    driver: document.driver,
    driverInfo: document.driverInfo,
    properties: document.properties,
    networkInterface: 'switchport',
    provisionState: 'available',
    powerState: 'power off',
    allocationUuid,
    instanceUuid: allocationUuid,
    instanceInfo: { image_source: 'http://images.example/old.raw', capabilities: 'x:y', traits: ['CUSTOM_A'] },
  });
  await db.insert(ports).values({
    uuid: crypto.randomUUID(),
    nodeUuid: uuid,
    address,
    localLinkConnection: { switch_id: 's1', port_id: 'p1' },
  });
  await insertVif(db, uuid, { id: 'red', portUuid: null, portgroupUuid: null });
  return uuid;
}

async function beat(node = document, token?: number) {
  const site = {
    nodes: new Map([[node.name, node]]),
    strategy: { name: 'default', groups: [], max_parallel_groups: 1 },
    timeouts: { prepare: 1, deploy: 1 },
    plugins: [],
    etcdClusters: [],
    settings: defaultSettings,
  };
  const outcomes = await advanceNodes(
    { ...api.context, run: writesImage },
    { action: token === undefined ? action : { ...action, token }, site, orders: [{ node, phase: 'deploy' }] },
  );
  return outcomes.get(node.name);
}

test('image, network and config drive are the documents’, and nothing stays of the last instance', async () => {
  const uuid = await addPreparedNode();
  const { db } = api.context;
  expect(inWords(await beat())).toEqual({ state: 'working', doing: 'beginning its deploy' });
  const [row] = await db.select().from(nodes).where(eq(nodes.uuid, uuid));
  expect(row).toMatchObject({ provisionState: 'deploying', targetProvisionState: 'active' });
  expect(row?.instanceInfo).toEqual({ ...document.instanceInfo, hostname: 'n1' });
  expect(await listVifs(db, uuid)).toEqual([{ id: 'blue', portUuid: null, portgroupUuid: null }]);
  expect(await db.select().from(configDrives).where(eq(configDrives.nodeUuid, uuid))).toHaveLength(1);
  const flow = await findOpenFlow(db, uuid);
  expect(flow).toMatchObject({ kind: 'deploy', actionId: action.id, requestedBy: 'alice' });
  expect(inWords(await beat())).toMatchObject({ state: 'working', doing: 'deploying' });
  expect(await findOpenFlow(db, uuid)).toEqual(flow);
});

test('nothing is begun for an action that has ended, or that another conductor has taken over', async () => {
  const uuid = await addPreparedNode();
  const { db } = api.context;
  await addAction(db, { id: action.id, token: 2, flow: { endedAt: new Date() } });
  await expect(beat(document, 2)).rejects.toMatchObject({ code: 'lease_lost' });
  await db.update(flows).set({ endedAt: null });
  await expect(beat(document, 1)).rejects.toMatchObject({ code: 'lease_lost' });
  expect(await findOpenFlow(db, uuid)).toBeUndefined();
  expect(inWords(await beat(document, 2))).toEqual({ state: 'working', doing: 'beginning its deploy' });
  expect(await findOpenFlow(db, uuid)).toMatchObject({ actionId: action.id });
  await db.delete(siteActions);
});

test('what can’t be deployed fails with the reason, and begins nothing', async () => {
  const uuid = await addPreparedNode();
  const { instanceInfo: _none, ...withoutImage } = document;
  expect(inWords(await beat(withoutImage))).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('image_source'),
  });
  const nowhere = { ...document, ports: [{ address, pxeEnabled: true, network: 'green' }] };
  expect(inWords(await beat(nowhere))).toMatchObject({ state: 'failed', error: expect.stringContaining("'green'") });
  expect(await findOpenFlow(api.context.db, uuid)).toBeUndefined();
});

test('of several networks each takes its port', async () => {
  const uuid = await addPreparedNode();
  const { db } = api.context;
  const second = {
    address: '52:54:00:08:00:02',
    pxeEnabled: false,
    localLinkConnection: { switch_id: 's1', port_id: 'p2' },
  };
  await db.insert(ports).values({ uuid: crypto.randomUUID(), nodeUuid: uuid, ...second });
  const both = { ...document, ports: [...document.ports, { ...second, network: 'red' }] };
  expect(inWords(await beat(both))).toEqual({ state: 'working', doing: 'beginning its deploy' });
  const rows = await db.select().from(ports).where(eq(ports.nodeUuid, uuid)).orderBy(ports.address);
  expect((await listVifs(db, uuid)).toSorted((a, b) => a.id.localeCompare(b.id))).toEqual([
    { id: 'blue', portUuid: rows[0]?.uuid, portgroupUuid: null },
    { id: 'red', portUuid: rows[1]?.uuid, portgroupUuid: null },
  ]);
});

test('a node that was given away since it was looked at is left alone', async () => {
  const uuid = await addPreparedNode();
  const { db } = api.context;
  const design = (await readDesigns(api.context, [document])).get(document.name);
  if (!design) throw new Error('nothing was read');
  for (const whose of [{ owner: 'tenant' }, { owner: null, lessee: 'tenant' }]) {
    await db.update(nodes).set(whose).where(eq(nodes.uuid, uuid));
    const work = { action, wanted: document, design };
    await expect(deployNode(api.context, { ...work, steps: [] })).rejects.toMatchObject({ code: 'conflict' });
    const verb = { verb: 'manage', isUnowned: true, caller: siteCaller(action) } as const;
    await expect(requestProvision(api.context, design.row, verb)).rejects.toThrow('tenant');
  }
  expect(await db.select().from(flows).where(eq(flows.nodeUuid, uuid))).toEqual([]);
});
