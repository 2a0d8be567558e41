import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodes } from '#conductor/db/schema/node.ts';
import { finishFlow } from '#conductor/flows/finish-flow.ts';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/flow-store.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { ProvisionState } from '#conductor/nodes/provision-states.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', automated_clean: false })).uuid;
});

async function finish(kind: FlowKindName, provisionState: ProvisionState, retired: boolean): Promise<ProvisionState> {
  const { db } = api.context;
  await db.update(nodes).set({ provisionState, retired });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind, steps: [] }));
  const lease = await claimLease(db, uuid, { holder: 'test-host', leaseMs: 60_000 });
  const flow = await findOpenFlow(db, uuid);
  if (!lease || !flow) throw new Error('no lease or no flow');
  await finishFlow(api.context, { lease, node: await getNode(db, uuid), flow, steps: [] });
  return (await getNode(db, uuid)).provisionState;
}

test.each([
  ['teardown', 'deleting', false, 'available'],
  ['teardown', 'deleting', true, 'manageable'],
  ['clean', 'cleaning', false, 'available'],
  ['clean', 'cleaning', true, 'manageable'],
  ['wipe', 'cleaning', false, 'available'],
  ['wipe', 'cleaning', true, 'manageable'],
  ['decommission', 'active', false, 'active'],
  ['leave_cluster', 'available', false, 'available'],
  ['deploy', 'deploying', true, 'active'],
] as const)('%s out of %s, retired %s, ends in %s', async (kind, from, retired, to) => {
  expect(await finish(kind, from, retired)).toBe(to);
});
