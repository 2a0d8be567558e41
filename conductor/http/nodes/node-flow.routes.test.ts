import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type FlowRow, type FlowStepInsert, flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** An operator acts on a flow under way, beside its abort. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const later = new Date(Date.now() + 3_600_000);

/** Node `n1` with a flow of these steps. */
async function addFlow(flow: Partial<FlowRow>, steps: readonly Partial<FlowStepInsert>[]): Promise<string[]> {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  const { db } = api.context;
  const flowUuid = randomUUID();
  await db
    .insert(flows)
    .values({ uuid: flowUuid, nodeUuid, kind: 'manual_clean', state: 'running', nextCheckAt: later, ...flow });
  const rows = steps.map((step, position) => ({
    uuid: randomUUID(),
    flowUuid,
    phase: 'main' as const,
    position,
    interface: 'bios',
    step: 'apply_configuration',
    priority: 0,
    origin: 'request' as const,
    inBand: false,
    ...step,
  }));
  await db.insert(flowSteps).values(rows);
  return rows.map(({ uuid }) => uuid);
}

const retried = { state: 'waiting', runAgain: true, retryUntil: later, waitingFor: 'another try' } as const;
const retry = () => api.call('POST', '/v1/nodes/n1/flow/retry');
const skip = (step: string | undefined) => api.call('POST', '/v1/nodes/n1/flow/skip', { step });
const states = async () => (await api.context.db.select().from(flowSteps)).map(({ state }) => state);
const events = async () => {
  const { body } = await api.call('GET', '/v1/nodes/n1/history?detail=true');
  return (body['history'] as { event: string }[]).map(({ event }) => event);
};
async function isDue(): Promise<boolean> {
  const [flow] = await api.context.db.select().from(flows).where(eq(flows.state, 'running'));
  return flow !== undefined && flow.nextCheckAt < later;
}

test('what waits is tried at once', async () => {
  await addFlow({}, [retried]);
  expect(await retry()).toMatchObject({ status: 202 });
  expect(await isDue()).toBe(true);
  expect(api.nudged).toHaveLength(1);
  expect(await events()).toContain('bios.apply_configuration tried again at once');
});

test('what is tried at this moment is at once enough', async () => {
  const trying = { ...retried, state: 'running', runAgain: false, waitingFor: null } as const;
  const [step] = await addFlow({}, [trying]);
  const [flow] = await api.context.db.select().from(flows);
  await api.context.db.insert(flowEvents).values(
    ['the BMC is away', 'the BMC is still away'].map((detail) => ({
      flowUuid: flow?.uuid ?? '',
      stepUuid: step ?? '',
      event: 'waiting' as const,
      detail,
      conductor: 'c',
    })),
  );
  expect(await retry()).toMatchObject({ status: 202 });
  expect(await isDue()).toBe(false);
  const { body } = await api.call('GET', '/v1/flows');
  expect(body['flows']).toMatchObject([
    { status: 'retrying', reason: 'the BMC is still away', until: later.toISOString(), next_attempt_at: null },
  ]);
});

test.each([
  [{}, [{ state: 'running' as const }], 'no step of its manual_clean waits'],
  [{ onHold: 'a word' }, [retried], "is on hold for a word: 'unhold' continues it"],
  [{ held: 'node is in maintenance' }, [retried], 'is held: node is in maintenance'],
  [{ state: 'failing' as const }, [retried], 'has failed, and the node is made safe'],
  [{ endedAt: new Date() }, [retried], 'has no flow under way'],
])('with a flow %j there is nothing to try', async (flow, steps, says) => {
  await addFlow(flow, steps);
  expect(await retry()).toMatchObject({ status: 409, fault: expect.stringContaining(says) as string });
  expect(api.nudged).toEqual([]);
});

test('what was asked for is left out before it begins, or while it is retried', async () => {
  const [first, second] = await addFlow({}, [retried, {}]);
  const { body } = await api.call('GET', '/v1/nodes/n1/flow');
  expect(body['steps']).toMatchObject([{ may_skip: true }, { may_skip: true }]);
  const { body: all } = await api.call('GET', '/v1/flows');
  expect(all['flows']).toMatchObject([{ status: 'retrying', step_uuid: first, may_skip: true }]);
  expect(await skip(second)).toMatchObject({ status: 202 });
  expect(await isDue()).toBe(false);
  expect(await skip(first)).toMatchObject({ status: 202 });
  expect(await isDue()).toBe(true);
  expect(await states()).toEqual(['skipped', 'skipped']);
  expect(await events()).toContain('bios.apply_configuration skipped');
  expect(await skip(first)).toMatchObject({
    status: 409,
    fault: expect.stringContaining('it has ended: skipped') as string,
  });
});

test.each<[Partial<FlowStepInsert>, string]>([
  [{ origin: 'core' }, 'only what a request'],
  [{ origin: 'agent', inBand: true }, 'only what a request'],
  [{ step: 'write_image', inBand: true }, 'only what a request'],
  [{ phase: 'cleanup' }, 'only what a request'],
  [{ state: 'running' }, 'it is under way; abort the flow'],
  [{ ...retried, inBand: true }, 'the agent may be at work on it'],
])('a step %j stays', async (step, says) => {
  const [uuid] = await addFlow({}, [step]);
  expect(await skip(uuid)).toMatchObject({ status: 409, fault: expect.stringContaining(says) as string });
  expect(await states()).toEqual([step.state ?? 'pending']);
  const { body } = await api.call('GET', '/v1/nodes/n1/flow');
  expect(body['steps']).toMatchObject([{ may_skip: false }]);
});

test('a flow that will be planned again, and steps of others', async () => {
  const [, uuid] = await addFlow({}, [{ interface: 'deploy', step: 'boot_ramdisk', origin: 'core' }, {}]);
  expect(await skip(uuid)).toMatchObject({
    status: 409,
    fault: expect.stringContaining('planned again when the ramdisk has booted') as string,
  });
  expect(await skip(randomUUID())).toMatchObject({ status: 404 });
  expect(await skip('first')).toMatchObject({ status: 400, fault: expect.stringContaining("step's UUID") as string });
});
