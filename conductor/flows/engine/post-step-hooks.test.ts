import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyPostStepHook } from '#conductor/flows/engine/post-step-hooks.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const software = { logical_disks: [{ size_gb: 10, raid_level: '1', controller: 'software' }] };
const hardware = { logical_disks: [{ size_gb: 10, raid_level: '1' }] };
const step = { interface: 'deploy', step: 'wipe_disks', inBand: true } as FlowStepRow;

const { disks } = OsDisk.parse({ disks: [{ name: '/dev/sda', serial: 'S1' }] });
const plain = { disks, array_uuid: null };
const array = { disks, array_uuid: '3aaa0122:29827cfa:5331ad66:ca767371' };

test.each([
  [software, false, plain, {}],
  [software, true, plain, software],
  [software, true, array, {}],
  [hardware, false, plain, hardware],
])('a wipe takes arrays along with their members: %j, preserving %s', async (raidConfig, preserve, osDisk, left) => {
  const { db } = api.context;
  const name = `n${crypto.randomUUID()}`;
  const uuid = await addAvailableNode(db, name, { raidConfig, osDisk, properties: { root_device: { wwn: 'array' } } });
  const flow = { kind: 'wipe', wipe: { preserveLocalStorage: preserve } } as FlowRow;
  await db.transaction(async (tx) => {
    const node = await getNode(tx, uuid);
    await applyPostStepHook(tx, { node, flow, step, output: {}, now: new Date() });
  });
  const node = await getNode(db, uuid);
  expect(node.raidConfig).toEqual(left);
  expect(node.properties['root_device']).toEqual(left === raidConfig ? { wwn: 'array' } : undefined);
});
