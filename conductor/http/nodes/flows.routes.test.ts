import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { recordStepEvent } from '#conductor/flows/log/step-log.ts';
import { type FlowRow, type FlowStepInsert, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(() => api.close());

async function addNode(name: string, provisionState: string, more: object = {}): Promise<string> {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name, ...more });
  await api.context.db
    .update(nodes)
    .set({ provisionState: provisionState as 'active' })
    .where(eq(nodes.uuid, uuid));
  return uuid;
}

async function addFlow(nodeUuid: string, flow: Partial<FlowRow>, step?: Partial<FlowStepInsert>): Promise<string> {
  const uuid = randomUUID();
  const { db } = api.context;
  await db.insert(flows).values({ uuid, nodeUuid, kind: 'deploy', state: 'running', ...flow });
  if (step) {
    const base = {
      uuid: randomUUID(),
      flowUuid: uuid,
      phase: 'main',
      position: 1,
      interface: 'deploy',
      step: 'write_image',
    };
    await db.insert(flowSteps).values({ ...base, phase: 'main', priority: 80, origin: 'core', inBand: true, ...step });
  }
  return uuid;
}

interface Summary {
  readonly uuid: string;
  readonly node_name: string;
  readonly status: string;
}
async function list(query = '', headers = {}): Promise<Summary[]> {
  const { status, body } = await api.call('GET', `/v1/flows${query}`, undefined, undefined, headers);
  expect(status).toBe(200);
  return body['flows'] as Summary[];
}

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);

test('of each node the flow that counts, with its step, and why it waits', async () => {
  await addFlow(
    await addNode('busy', 'deploying'),
    {},
    { state: 'running', startedAt: ago(1), progress: { phase: 'write', done_bytes: 4 } },
  );
  await addFlow(
    await addNode('patient', 'wait call-back'),
    { state: 'waiting', startedAt: ago(2) },
    {
      step: 'deploy',
      state: 'waiting',
      startedAt: ago(1),
      waitingFor: 'first heartbeat of the ramdisk',
      waitUntil: ago(-29),
    },
  );
  await addFlow(
    await addNode('long', 'wait call-back'),
    { state: 'waiting', startedAt: ago(20) },
    {
      step: 'deploy',
      state: 'waiting',
      startedAt: ago(19),
      waitingFor: 'first heartbeat of the ramdisk',
      waitUntil: ago(-11),
    },
  );
  await addFlow(
    await addNode('resting', 'deploying'),
    { onHold: 'the operator', startedAt: ago(3) },
    { state: 'pending' },
  );
  const broken = await addNode('broken', 'deploy failed');
  await addFlow(broken, { state: 'succeeded', kind: 'clean', startedAt: ago(90), endedAt: ago(80) });
  await addFlow(
    broken,
    { state: 'failed', startedAt: ago(60), endedAt: ago(50), error: 'deploy step deploy.write_image failed: no room' },
    { state: 'failed', startedAt: ago(55), endedAt: ago(50), error: 'no room' },
  );
  const mended = await addNode('mended', 'available');
  await addFlow(mended, { state: 'failed', startedAt: ago(60), endedAt: ago(50) }, { state: 'failed' });

  expect(await list()).toMatchObject([
    {
      node_name: 'broken',
      status: 'failed',
      step: 'deploy.write_image',
      reason: 'deploy step deploy.write_image failed: no room',
      since: expect.any(String),
      until: null,
    },
    { node_name: 'long', status: 'slow', reason: 'first heartbeat of the ramdisk' },
    { node_name: 'resting', status: 'held', reason: 'the operator' },
    {
      node_name: 'patient',
      status: 'waiting',
      step: 'deploy.deploy',
      reason: 'first heartbeat of the ramdisk',
      attempt: 0,
    },
    {
      node_name: 'busy',
      status: 'working',
      reason: null,
      progress: { phase: 'write', done_bytes: 4 },
      conductor: expect.any(String),
    },
  ]);
});

test('a retry says how often it was tried, when again, and until when', async () => {
  const nextCheckAt = ago(-1);
  const uuid = await addFlow(
    await addNode('flaky', 'deploying'),
    { state: 'waiting', nextCheckAt },
    { interface: 'power', step: 'power_on', state: 'pending' },
  );
  const { db } = api.context;
  const retryUntil = ago(-30);
  for (const event of ['started', 'waiting', 'started', 'waiting'] as const) {
    const [step] = await db.select().from(flowSteps).where(eq(flowSteps.flowUuid, uuid));
    const wait = { waitingFor: 'the BMC did not answer', retryUntil };
    const options = { conductor: 'here', now: new Date(), ...(event === 'waiting' ? wait : {}) };
    if (step) await db.transaction((tx) => recordStepEvent(tx, step, event, options));
  }
  expect(await list()).toMatchObject([
    {
      status: 'retrying',
      step: 'power.power_on',
      attempt: 2,
      reason: 'the BMC did not answer',
      next_attempt_at: nextCheckAt.toISOString(),
      until: retryUntil.toISOString(),
    },
  ]);
});

test('the code of a wait is not that of the failure which an older conductor has recorded', async () => {
  const node = await addNode('mixed', 'wait call-back');
  const uuid = await addFlow(node, { state: 'waiting' }, { step: 'deploy', state: 'running', startedAt: ago(1) });
  const { db } = api.context;
  const isIts = eq(flowSteps.flowUuid, uuid);
  const [step] = await db.select().from(flowSteps).where(isIts);
  if (!step) throw new Error('no step');
  const options = {
    conductor: 'new',
    now: new Date(),
    waitingFor: 'first heartbeat',
    fault: { code: 'ramdisk_silent' },
  };
  await db.transaction((tx) => recordStepEvent(tx, step, 'waiting', options as Parameters<typeof recordStepEvent>[3]));
  const codes = async () => {
    const { body } = await api.call('GET', `/v1/nodes/${node}/flow`);
    const [seen] = body['steps'] as { code: unknown }[];
    return [seen?.code, ((await list()) as { code?: unknown }[])[0]?.code, body['advice']];
  };
  expect(await codes()).toEqual(['ramdisk_silent', 'ramdisk_silent', null]);
  // as a release writes it that has no column for it
  await db.update(nodes).set({ provisionState: 'deploy failed' }).where(eq(nodes.uuid, node));
  await db.update(flows).set({ state: 'failed', endedAt: new Date(), error: 'no room' }).where(eq(flows.uuid, uuid));
  const old = { state: 'failed', endedAt: new Date(), waitingFor: null, error: 'no room' } as const;
  await db.update(flowSteps).set(old).where(isIts);
  expect(await codes()).toEqual([null, null, expect.stringContaining('recorded by another release')]);
});

test('pages, the oldest first, and filters', async () => {
  for (const index of [1, 2, 3]) {
    await addFlow(await addNode(`n${index}`, 'deploying'), { startedAt: ago(index) }, { state: 'running' });
  }
  await addFlow(await addNode('cleaned', 'cleaning'), { kind: 'clean', startedAt: ago(9) }, { state: 'running' });
  const first = await api.call('GET', '/v1/flows?limit=2');
  expect((first.body['flows'] as Summary[]).map((flow) => flow.node_name)).toEqual(['cleaned', 'n3']);
  const next = String(first.body['next']);
  expect((await list(next.slice(next.indexOf('?')))).map((flow) => flow.node_name)).toEqual(['n2', 'n1']);
  expect((await list('?kind=clean')).map((flow) => flow.node_name)).toEqual(['cleaned']);
  expect(await list('?status=failed,held')).toEqual([]);
  expect((await api.call('GET', '/v1/flows?status=late')).fault).toContain('must be some of failed, retrying');
  expect((await api.call('GET', '/v1/flows?kind=deployed')).fault).toContain('must be some of');
  expect((await api.call('GET', '/v1/flows?state=failed')).status).toBe(400);
});

test('what no conductor works on is held, and says so', async () => {
  const uuid = await addNode('lost', 'deploying');
  await api.context.db.update(nodes).set({ conductorGroup: 'elsewhere' }).where(eq(nodes.uuid, uuid));
  await addFlow(uuid, {}, { state: 'running' });
  expect(await list()).toMatchObject([
    { status: 'held', conductor: null, reason: expect.stringContaining('no conductor of group "elsewhere"') },
  ]);
});

test('the fleet is counted by state', async () => {
  await addNode('a', 'active');
  await addNode('b', 'active', { maintenance: true });
  await addNode('c', 'available');
  expect((await api.call('GET', '/v1/fleet')).body).toEqual({
    nodes: 3,
    in_maintenance: 1,
    provision_states: { active: 2, available: 1 },
  });
});
