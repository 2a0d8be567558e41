import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { failStep, finishFlow, stopFlow } from '#conductor/flows/engine/finish-flow.ts';
import { findOpenFlow, insertFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { addAction, asked } from '#conductor/flows/site-actions/testing/add-action.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { receipts } from '#conductor/kernel/db/schema/receipt.ts';
import { siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flows/flow-states.ts';
import { plannedCore } from '#conductor/model/flows/planned-step.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
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
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1', automated_clean: false })).uuid;
});

async function finish(
  kind: FlowKindName,
  provisionState: ProvisionState,
  retired: boolean,
  { wipe, actionId }: { readonly wipe?: WipeRequest; readonly actionId?: string } = {},
): Promise<ProvisionState> {
  const { db } = api.context;
  await db.update(nodes).set({ provisionState, retired });
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind, wipe, actionId, steps: [] }));
  return finishOpen();
}

/** With the node at work in it. */
async function actionAtWork(
  more: Omit<Parameters<typeof addAction>[1], 'id'>,
  work: Partial<typeof siteActionNodes.$inferInsert> = {},
): Promise<string> {
  const { db } = api.context;
  const id = 'A';
  await db.delete(siteActions);
  await addAction(db, { id, name: 'redeploy_server', ...more });
  const atWork = { actionId: id, name: 'n1', phase: 'prepare' } as const;
  await db.insert(siteActionNodes).values({ ...atWork, ...work });
  return id;
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
    expect(await finish('wipe', 'cleaning', false, { wipe: all })).toBe('clean failed');
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

  const yesterday = new Date(Date.now() - 24 * 60 * 60_000);
  test.each([
    ['is to pause', 'is paused', { flow: asked.hold }, {}, false],
    ['is to pause', 'is paused', { flow: asked.hold }, {}, true],
    ['is to stop', 'is stopped', { flow: asked.abort }, {}, false],
    ['has failed', 'has ended', { flow: { state: 'failed', endedAt: yesterday } }, {}, false],
    ['is forgotten', 'has ended', undefined, {}, false],
    ['is to stop, whichever it is', 'is stopped', { name: 'update_site', flow: asked.abort }, {}, false],
    ['breaks it off', 'has given the node up', {}, { cancelling: 'group g took too long' }, false],
    ['has given it up', 'has given the node up', {}, { phase: null, status: 'failure' }, false],
  ] as const)('is not begun for a site action that %s: %s', async (_which, why, action, work, retired) => {
    const { db } = api.context;
    await owe();
    const actionId = action ? await actionAtWork(action, work) : 'gone';
    expect(await finish('teardown', 'deleting', retired, { wipe: all, actionId })).toBe('manageable');
    expect(await findOpenFlow(db, uuid)).toBeUndefined();
    expect(await owed()).toEqual(all);
    expect(await getNode(db, uuid)).toMatchObject({ targetProvisionState: null, lastError: null });
    expect((await listHistory(db, uuid))[0]?.event).toBe(`its wipe is not started: site action ${actionId} ${why}`);
  });

  test.each([
    ['goes on', {}],
    ['is to pause, and tears nothing down: its phase ends', { name: 'update_site', flow: asked.hold }],
  ] as const)('is begun for one that %s', async (_which, action) => {
    await owe();
    const actionId = await actionAtWork(action);
    expect(await finish('teardown', 'deleting', false, { wipe: all, actionId })).toBe('cleaning');
    expect(await findOpenFlow(api.context.db, uuid)).toMatchObject({ kind: 'wipe', wipe: all, actionId });
  });

  test('an adoption ends it not', async () => {
    await owe();
    expect(await finish('adopt', 'adopting', false)).toBe('active');
    expect(await owed()).toEqual(all);
  });
});

test.each([
  ['get_sensors', false],
  ['set_bmc_clock', true],
])('a service that fails in %s powers off and leaves networks: %s', async (name, cleansUp) => {
  const { db, config, clock } = api.context;
  await db.update(nodes).set({ provisionState: 'servicing' });
  const steps = [
    { ...plannedCore({ interface: 'deploy', step: name, priority: 0 }), interface: 'management' },
    plannedCore({ interface: 'deploy', step: 'boot_instance', priority: 0 }),
  ];
  const flowUuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'service', steps }));
  const lease = await claimLease(db, uuid, { holder: 'test-host', leaseMs: 60_000 });
  const flow = await findOpenFlow(db, uuid);
  const [pending] = await listSteps(db, flowUuid);
  const by = { conductor: config.conductorName, now: clock.now() };
  if (pending) await db.transaction((tx) => recordStepEvent(tx, pending, 'started', by));
  const [step] = await listSteps(db, flowUuid);
  if (!lease || !flow || !step) throw new Error('no lease, flow or step');
  await failStep(api.context, { lease, node: await getNode(db, uuid), flow, step }, new Error('CPU 1 Temp is warning'));
  await releaseLease(db, lease);
  const after = await listSteps(db, flowUuid);
  expect(after.some(({ phase }) => phase === 'cleanup')).toBe(cleansUp);
});

test('a service that is aborted before its first step leaves its instance on', async () => {
  const { db } = api.context;
  await db.update(nodes).set({ provisionState: 'servicing' });
  const steps = ['boot_ramdisk', 'tear_down_agent'].map((name) =>
    plannedCore({ interface: 'deploy', step: name, priority: 0 }),
  );
  const flowUuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'service', steps }));
  const flow = await findOpenFlow(db, uuid);
  if (!flow) throw new Error('no flow');
  await db.transaction((tx) => stopFlow(api.context, tx, flow, { error: 'aborted', thenEnd: false }));
  const after = await listSteps(db, flowUuid);
  // the reason stands with the flow, and once
  expect(after.map(({ step, state, error }) => [step, state, error])).toEqual([
    ['boot_ramdisk', 'skipped', null],
    ['tear_down_agent', 'skipped', null],
  ]);
  expect(await finishOpen()).toBe('service failed');
});
