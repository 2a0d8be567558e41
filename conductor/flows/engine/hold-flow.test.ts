import { eq, sql } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { holdInMaintenance, isHeld } from '#conductor/flows/engine/hold-flow.ts';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import { readWork } from '#conductor/flows/log/read-work.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { type FlowRow, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { openTestApi } from '#test/support/test-api.ts';

const node = (maintenance: boolean, fault: string | null = null) => ({ maintenance, fault }) as NodeRow;
const flow = (kind: FlowRow['kind'], state: FlowRow['state'] = 'running') => ({ kind, state }) as FlowRow;

test.each([
  ['a deploy without maintenance', flow('deploy'), node(false), false],
  ['a deploy in maintenance', flow('deploy'), node(true), true],
  ['a teardown that was asked for in it', flow('teardown'), node(true), false],
  ['what makes a node safe', flow('deploy', 'aborting'), node(true, 'clean failure'), false],
  ['a teardown after a restore', flow('teardown'), node(true, 'restored'), true],
  ['what made a node safe before a restore', flow('deploy', 'aborting'), node(true, 'restored'), true],
  ['all of it once a person has ended the maintenance', flow('teardown'), node(false), false],
])('%s', (_what, each, of, holds) => {
  expect(isHeld({ flow: each, node: of })).toBe(holds);
});

test('a held flow is looked at every twelfth period only', async () => {
  const api = await openTestApi();
  onTestFinished(() => api.close());
  const { db } = api.context;
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  await api.call('PUT', `/v1/nodes/${nodeUuid}/maintenance`, { reason: 'a fan' });
  const steps = planSteps(flowKinds.verify, { requested: [] });
  const flowUuid = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'verify', steps }));
  const attends = { group: '', drivers: ['fake-hardware'] };
  const lease = await claimLease(db, nodeUuid, { holder: 'a', leaseMs: 60_000, attends });
  const work = await readWork(db, nodeUuid);
  if (!lease || !work?.flow) throw new Error('no lease, or no flow');
  const config = { ...api.context.config, reconcileIntervalMs: 5_000 };
  const { node: row, flow: open } = work;
  const came = await holdInMaintenance({ ...api.context, config }, { lease, node: row, flow: open });
  const seconds = sql<number>`extract(epoch from ${flows.nextCheckAt} - now())::float8`;
  const [next] = await db.select({ seconds }).from(flows).where(eq(flows.uuid, flowUuid));
  expect([came, (next?.seconds ?? 0) > 30]).toEqual(['held', true]);
});
