import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { flows } from '#conductor/db/schema/flow.ts';
import { nodes } from '#conductor/db/schema/node.ts';
import { receipts } from '#conductor/db/schema/receipt.ts';
import { finishFlow } from '#conductor/flows/finish-flow.ts';
import type { FlowKindName, WipeWish } from '#conductor/flows/flow-states.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/flow-store.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { ProvisionState } from '#conductor/nodes/provision-states.ts';
import { ensureSigningKey } from '#conductor/receipts/signing-key-store.ts';
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

async function finish(
  kind: FlowKindName,
  provisionState: ProvisionState,
  retired: boolean,
  wipe?: WipeWish,
): Promise<ProvisionState> {
  const { db } = api.context;
  await db.update(nodes).set({ provisionState, retired });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind, wipe, steps: [] }));
  return finishOpen();
}

async function finishOpen(): Promise<ProvisionState> {
  const { db } = api.context;
  const lease = await claimLease(db, uuid, { holder: 'test-host', leaseMs: 60_000 });
  const flow = await findOpenFlow(db, uuid);
  if (!lease || !flow) throw new Error('no lease or no flow');
  await finishFlow(api.context, { lease, node: await getNode(db, uuid), flow, steps: [] });
  await releaseLease(db, lease);
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

describe('of a wipe that is owed', () => {
  const all = { preserveLocalStorage: false };
  const owe = () => api.context.db.update(nodes).set({ owedWipe: all });
  const owed = async () => (await getNode(api.context.db, uuid)).owedWipe;

  test('a wipe without receipt pays nothing, and does not make the node available', async () => {
    await owe();
    expect(await finish('wipe', 'cleaning', false, all)).toBe('clean failed');
    expect(await owed()).toEqual(all);
    expect((await getNode(api.context.db, uuid)).lastError).toContain('without receipt none counts');
  });

  test('one with its receipt does', async () => {
    await owe();
    const { db } = api.context;
    await db.update(nodes).set({ provisionState: 'cleaning' });
    const flowUuid = await db.transaction((tx) =>
      insertFlow(tx, { nodeUuid: uuid, kind: 'wipe', wipe: all, steps: [] }),
    );
    await db.insert(receipts).values({
      uuid: randomUUID(),
      flowUuid,
      nodeUuid: uuid,
      preserveLocalStorage: false,
      disksWiped: 1,
      disksLeftAlone: 0,
      keyFingerprint: (await ensureSigningKey(api.context)).fingerprint,
      signedAt: new Date(),
      envelope: '',
    });
    expect(await finishOpen()).toBe('available');
    expect(await owed()).toBeNull();
  });

  test('a cleaning that another release has begun is followed by the wipe, and so is a release of the instance', async () => {
    for (const [kind, from] of [
      ['clean', 'cleaning'],
      ['teardown', 'deleting'],
    ] as const) {
      await owe();
      expect(await finish(kind, from, false)).toBe('cleaning');
      const flow = await findOpenFlow(api.context.db, uuid);
      expect(flow).toMatchObject({ kind: 'wipe', wipe: all });
      await api.context.db.delete(flows);
    }
  });

  test('an adoption ends it not', async () => {
    await owe();
    expect(await finish('adopt', 'adopting', false)).toBe('active');
    expect(await owed()).toEqual(all);
  });
});
