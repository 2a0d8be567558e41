import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { saveAgentSteps } from '#conductor/agents/ask-agent.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeInsert } from '#conductor/kernel/db/schema/node.ts';
import { type AskedNode, addAskedNode } from '#test/support/asked-node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A wipe. */

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

const wipe = { preserve_local_storage: true };
const latest = async () => {
  const { body } = await api.call('GET', '/v1/nodes/n1/flow');
  return { kind: body['kind'], steps: (body['steps'] as { step: string }[]).map(({ step }) => step) };
};
const owe = (preserveLocalStorage: boolean, more: Partial<NodeInsert> = {}) =>
  node.set({ provisionState: 'manageable', owedWipe: { preserveLocalStorage }, ...more });
const owed = async () => (await api.call('GET', '/v1/nodes/n1')).body['driver_internal_info'];
const endFlow = (ended: 'succeeded' | 'failed') =>
  api.context.db.update(flows).set({ state: ended, endedAt: new Date() });

test('takes the place of cleaning, also where there is none', async () => {
  await node.set({ provisionState: 'manageable', automatedClean: false });
  expect(await node.ask('provide', { wipe })).toMatchObject({ status: 202 });
  expect(await latest()).toEqual({
    kind: 'wipe',
    steps: ['boot_ramdisk', 'wipe_disks', 'tear_down_agent', 'leave_network', 'sign_receipt'],
  });
  const [flow] = await api.context.db.select().from(flows);
  expect(flow?.wipe).toEqual({ preserveLocalStorage: true });
});

test('goes with what ends an instance or gives a node, and with nothing else', async () => {
  await node.set({ provisionState: 'available' });
  expect(await node.ask('active', { wipe })).toMatchObject({
    status: 400,
    fault: "wipe: it is only possible with target deleted, undeploy, provide, not with 'active'.",
  });
  await node.set({ provisionState: 'active' });
  expect(await node.ask('deleted', { wipe })).toMatchObject({ status: 202 });
  const [flow] = await api.context.db.select().from(flows);
  expect(flow).toMatchObject({ kind: 'teardown', wipe: { preserveLocalStorage: true } });
});

test('is owed from the request on, whatever flows there are, or are no longer', async () => {
  await node.set({ provisionState: 'active' });
  expect(await node.ask('deleted', { wipe })).toMatchObject({ status: 202 });
  expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: true } });
  expect((await latest()).steps).toEqual(['power_off', 'leave_network', 'release_instance', 'owe_wipe']);
  await endFlow('failed');
  await api.context.db.delete(flows);
  await node.set({ provisionState: 'manageable' });
  expect(await node.ask('provide')).toMatchObject({ status: 202 });
  expect((await latest()).kind).toBe('wipe');
});

test('is not a step of a release that no wipe follows', async () => {
  await node.set({ provisionState: 'active' });
  expect(await node.ask('deleted')).toMatchObject({ status: 202 });
  expect((await latest()).steps).not.toContain('owe_wipe');
  expect(await owed()).toEqual({});
});

test('that is owed outlives an adoption, and keeps anything from being deployed', async () => {
  await owe(false);
  expect(await node.ask('adopt')).toMatchObject({ status: 202 });
  await endFlow('failed');
  for (const [from, verb] of [
    ['error', 'rebuild'],
    ['available', 'active'],
    ['deploy failed', 'rebuild'],
  ] as const) {
    await node.set({ provisionState: from });
    expect(await node.ask(verb)).toMatchObject({
      status: 409,
      fault: expect.stringContaining('owes a wipe of all its disks') as unknown,
    });
  }
  expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: false } });
  await node.set({ provisionState: 'error' });
  expect(await node.ask('deleted')).toMatchObject({ status: 202 });
  const [flow] = await api.context.db.select().from(flows).where(eq(flows.kind, 'teardown'));
  expect(flow?.wipe).toEqual({ preserveLocalStorage: false });
});

test('of all disks is not paid by one that preserves some, and the other way round', async () => {
  await owe(false);
  expect(await node.ask('provide', { wipe })).toMatchObject({
    status: 409,
    fault: expect.stringContaining('local storage can not be preserved any more') as unknown,
  });
  await owe(true);
  expect(await node.ask('provide', { wipe: { preserve_local_storage: false } })).toMatchObject({ status: 202 });
  expect(await owed()).toEqual({ baton_owed_wipe: { preserve_local_storage: false } });
});

test('that is owed keeps the node from being forgotten, but in maintenance', async () => {
  await owe(true);
  expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({
    status: 409,
    fault: expect.stringContaining('`baton provide n1` wipes it') as unknown,
  });
  await node.set({ maintenance: true });
  expect(await api.call('DELETE', '/v1/nodes/n1')).toMatchObject({ status: 204 });
});

test('that is owed is done on a retired node, too', async () => {
  await owe(true, { retired: true });
  expect(await node.ask('provide')).toMatchObject({ status: 202 });
  expect((await latest()).kind).toBe('wipe');
});

test('that is asked for is done on a retired node', async () => {
  await node.set({ provisionState: 'manageable', retired: true });
  expect(await node.ask('provide', { wipe })).toMatchObject({ status: 202 });
});

test('is what a plan shows where it is owed, and its hash goes with the request', async () => {
  await saveAgentSteps(api.context.db, { nodeUuid: node.uuid, kind: 'clean', steps: [], hardwareManagerVersion: {} });
  await owe(false);
  const { body } = await api.call('POST', '/v1/nodes/n1/plan', { target: 'provide' });
  expect(body).toMatchObject({
    kind: 'wipe',
    warnings: expect.arrayContaining([expect.stringContaining('has not completed')]) as unknown,
  });
  expect(await node.ask('provide', { plan_hash: '0'.repeat(64) })).toMatchObject({ status: 409 });
  expect(await node.ask('provide', { plan_hash: body['hash'] })).toMatchObject({ status: 202 });
  expect((await latest()).kind).toBe('wipe');
});
