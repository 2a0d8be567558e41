import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { workOnNode } from '#conductor/flows/engine/node-worker.ts';
import { createScheduler } from '#conductor/flows/engine/scheduler.ts';
import { findLatestFlow, insertFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import { insertConductor, recordConductorStop } from '#conductor/kernel/conductors/conductor-store.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { plannedCore } from '#conductor/model/flows/planned-step.ts';
import { leaseHolder } from '#conductor/nodes/node-lease.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
const never = new AbortController().signal;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.reset();
  uuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', automated_clean: false })).uuid;
});

async function beginFlow(steps: readonly string[]): Promise<void> {
  const { db } = api.context;
  await db.update(nodes).set({ provisionState: 'deploying', networkInterface: 'noop' });
  const planned = steps.map((step) => plannedCore({ interface: 'deploy', step, priority: 0 }));
  await db.transaction((tx) => insertFlow(tx, { nodeUuid: uuid, kind: 'deploy', steps: planned }));
}

async function readFlow() {
  const flow = await findLatestFlow(api.context.db, uuid);
  if (!flow) throw new Error('no flow');
  return { flow, steps: await listSteps(api.context.db, flow.uuid) };
}

test('a step that only another release knows is left to others as long as there are any', async () => {
  const { context } = api;
  const { db } = context;
  const newer = { hostname: 'newer', conductorGroup: '', drivers: ['fake-hardware'], publicUrl: 'http://newer' };
  const generation = await insertConductor(db, newer);
  await beginFlow(['leave_network', 'from_the_future']);

  expect(await workOnNode(context, uuid, never)).toBe('not known here');

  const left = await readFlow();
  expect(left.steps.map(({ state }) => state)).toEqual(['succeeded', 'pending']);
  expect(left.flow).toMatchObject({ state: 'running', held: expect.stringContaining('deploy.from_the_future') });
  expect(await leaseHolder(db, uuid)).toBeUndefined();
  // it goes on where the step is known
  await db.update(flowSteps).set({ step: 'leave_network' }).where(eq(flowSteps.state, 'pending'));
  expect(await workOnNode(context, uuid, never)).toBe('done');
  expect((await readFlow()).flow).toMatchObject({ state: 'succeeded', held: null });

  await recordConductorStop(db, { hostname: 'newer', generation });
  await beginFlow(['from_the_future']);
  expect(await workOnNode(context, uuid, never)).toBe('done');
  const failed = await readFlow();
  expect(failed.flow.state).toBe('failed');
  expect(failed.flow.error).toContain("this conductor's release knows no step deploy.from_the_future");
});

test('what is left to others is told them once, and their nudges and the next periods leave it alone', async () => {
  const { context } = api;
  const newer = { hostname: 'newer', conductorGroup: '', drivers: ['fake-hardware'], publicUrl: 'http://newer' };
  const generation = await insertConductor(context.db, newer);
  await beginFlow(['from_the_future']);
  const notified: string[] = [];
  const scheduler = createScheduler({ context, notifyOthers: (nodeUuid) => notified.push(nodeUuid) });
  scheduler.nudge(uuid, 'operator');
  await expect.poll(() => notified).toEqual([uuid]);
  await context.db.update(flows).set({ nextCheckAt: new Date(0), held: null, heldSince: null });
  // its own word comes back to it
  scheduler.nudge(uuid, 'another conductor');
  await scheduler.reconcile();
  // what comes later is begun, so what came before has been decided on
  const other = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', automated_clean: false })).uuid;
  await context.db.update(nodes).set({ provisionState: 'deploying', networkInterface: 'noop' });
  const steps = [plannedCore({ interface: 'deploy', step: 'from_the_future', priority: 0 })];
  await context.db.transaction((tx) => insertFlow(tx, { nodeUuid: other, kind: 'deploy', steps }));
  scheduler.nudge(other, 'another conductor');
  await expect.poll(() => notified).toContain(other);
  await scheduler.stop();
  expect(notified.slice(0, 2)).toEqual([uuid, other]);
  expect((await readFlow()).flow.held).toBeNull();
  await recordConductorStop(context.db, { hostname: 'newer', generation });
});

test('a node whose driver is not known here is not claimed', async () => {
  await beginFlow(['leave_network']);
  await api.context.db.update(nodes).set({ driver: 'from-the-future' });
  expect(await workOnNode(api.context, uuid, never)).toBe('left to others');
  expect((await readFlow()).steps.map(({ state }) => state)).toEqual(['pending']);
});

test('limits go by the database: a host whose clock is hours ahead gives up nothing', async () => {
  const { context } = api;
  await beginFlow(['leave_network']);
  const inAnHour = new Date(Date.now() + 3_600_000);
  await context.db.update(flowSteps).set({ state: 'waiting', waitUntil: inAnHour, waitingFor: 'it' });
  const ahead = { ...context, clock: { ...context.clock, now: () => new Date(Date.now() + 7_200_000) } };
  await workOnNode(ahead, uuid, never);
  const { flow, steps } = await readFlow();
  expect(flow.state).toBe('succeeded');
  expect(Math.abs((steps[0]?.endedAt?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
});
