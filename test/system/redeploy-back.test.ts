import { randomUUID } from 'node:crypto';
import { and, asc, eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { storeChange } from '#test/simulators/kubernetes/deletion.ts';
import { type ClustersOfNode, startClustersOfNode } from '#test/support/clusters-of-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator } from '#test/support/operator.ts';
import { plainStrategy } from '#test/support/site-documents.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/** A node that was taken out of its clusters once, and what becomes of it in between; its machine is in memory. */

const name = 'n1';
const parameters = { target_nodes: [name], 'drain-node-timeout': 60, 'drain-node-grace-period': 1 };
let clusters: ClustersOfNode;
let conductor: ConductorInProcess;
let operator: SiteOperator;

beforeAll(async () => {
  clusters = await startClustersOfNode(name);
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_KUBECONFIG: clusters.small.kubeconfigFile },
  });
  operator = createSiteOperator(conductor.url);
  await clusters.commit(conductor.url, plainStrategy);
  await end(await operator.createAction('deploy_site'));
});
afterAll(async () => {
  await conductor?.close();
  await clusters?.close();
});
beforeEach(() => clusters.join());

async function end(id: string, as = 'Complete'): Promise<void> {
  expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: as });
}

const untilDoing = (id: string, pattern: RegExp) =>
  waitUntil(
    `${name} to be ${pattern}`,
    async () => pattern.test((await operator.actionNodes(id))[0]?.doing ?? '') || undefined,
    { everyMs: 20 },
  );

/** A redeploy that rests between the decommission of its node and the release. */
async function redeployUntilDecommissioned(): Promise<string> {
  const { small } = clusters;
  const { store } = small.simulator;
  small.addPod({ node: name, name: 'held', finalizers: ['example.org/hold'] });
  await small.settle();
  const id = await operator.createAction('redeploy_server', parameters);
  await untilDoing(id, /held by its finalizers/);
  await operator.control(id, 'pause');
  // only now may the drain end
  const { metadata, ...held } = store.get('pods', 'held');
  storeChange(store, 'pods', { ...held, metadata: { ...metadata, finalizers: [] } });
  await untilDoing(id, /^paused before (releasing|taking it out of its clusters again)/);
  expect(small.node(name)?.spec).toMatchObject({ unschedulable: true });
  expect(small.podsOn(name).map(({ metadata }) => metadata.name)).not.toContain('alone');
  return id;
}

const evictions = () =>
  clusters.small.simulator.requests.filter(({ path }) => path.endsWith('/pods/alone/eviction')).length;

/** Kinds of the action's flows, in the order in which they ran. */
async function flowsOf(id: string): Promise<string[]> {
  const { db } = conductor.context();
  const ofAction = and(eq(flows.actionId, id), eq(flows.state, 'succeeded'));
  const rows = await db.select({ kind: flows.kind }).from(flows).where(ofAction).orderBy(asc(flows.startedAt));
  return rows.map(({ kind }) => kind);
}
const once = ['decommission', 'teardown', 'wipe', 'leave_cluster', 'deploy'];

test('nothing in between, it leaves its clusters once', async () => {
  const id = await operator.createAction('redeploy_server', parameters);
  await end(id);
  expect(await flowsOf(id)).toEqual(once);
});

test('the last Ready node is refused before anything is begun, unless it is forced', async () => {
  const { world } = clusters.small.simulator;
  const sofar = evictions();
  world.stopKubelet('n2');
  await expect.poll(() => JSON.stringify(clusters.small.node('n2')?.status)).toContain('Unknown');
  const asked = operator.createAction('redeploy_server', parameters);
  await expect(asked).rejects.toThrow(/answered 409.*n1: it is the last Ready node of its cluster/s);
  const plan = operator.call('POST', '/actions', {
    name: 'redeploy_server',
    parameters: { ...parameters, dry_run: true },
  });
  const refused = expect.stringContaining('it is the last Ready node of its cluster') as unknown;
  expect(await plan).toMatchObject({ nodes: [{ refused }] });
  expect(clusters.small.node(name)?.spec).not.toMatchObject({ unschedulable: true });
  expect(evictions()).toBe(sofar);
  await end(await operator.createAction('redeploy_server', { ...parameters, force: true }));
  world.startKubelet('n2');
});

test('while another node is not back in service none is taken out, unless it is forced', async () => {
  const { db } = conductor.context();
  const { uuid } = (await createOperator(conductor.url).call('POST', '/v1/nodes', {
    name: 'n9',
    driver: 'fake-hardware',
  })) as { uuid: string };
  const instanceUuid = randomUUID();
  await db.update(nodes).set({ instanceUuid }).where(eq(nodes.uuid, uuid));
  const deploy = { nodeUuid: uuid, revisionId: 1, designHash: '', instanceUuid, actionId: 'earlier' };
  await db.insert(siteNodes).values({ name: 'n9', ...deploy });
  const asked = operator.createAction('redeploy_server', parameters);
  await expect(asked).rejects.toThrow(/answered 409.*n1: n9 is not back in service: update_site waits for that/s);
  await end(await operator.createAction('redeploy_server', { ...parameters, force: true }));
  await clusters.join();
  await db.update(siteNodes).set({ inServiceAt: new Date() }).where(eq(siteNodes.nodeUuid, uuid));
  await end(await operator.createAction('redeploy_server', parameters));
});

test('put back while the action is paused, it is drained once more before it is released', async () => {
  const id = await redeployUntilDecommissioned();
  const sofar = evictions();
  await clusters.join();
  await operator.control(id, 'unpause');
  await end(id);
  expect(await flowsOf(id)).toEqual(['decommission', ...once]);
  expect(evictions()).toBe(sofar + 1);
  expect(clusters.members()).toEqual(['elsewhere']);
});

test('left as it was, with its kubelet stopped, it goes on after a pause', async () => {
  const id = await redeployUntilDecommissioned();
  expect(clusters.small.simulator.world.isRunning(name)).toBe(false);
  await operator.control(id, 'unpause');
  await end(id);
  expect(await flowsOf(id)).toEqual(['decommission', ...once]);
  expect(clusters.small.node(name)).toBeUndefined();
});

test('removed from the cluster by hand meanwhile, it goes on after a pause', async () => {
  const id = await redeployUntilDecommissioned();
  const node = clusters.small.node(name);
  if (node) clusters.small.simulator.store.remove('nodes', node);
  await operator.control(id, 'unpause');
  await end(id);
  expect(await flowsOf(id)).toEqual(['decommission', ...once]);
});

test('stopped after that pause it is kept as it is, and drained by the next action once it was put back', async () => {
  const first = await redeployUntilDecommissioned();
  await operator.control(first, 'stop');
  await end(first, 'Stopped');
  expect(await flowsOf(first)).toEqual(['decommission']);
  expect(await createOperator(conductor.url).node(name)).toMatchObject({ provision_state: 'active' });
  const sofar = evictions();
  await clusters.join();
  const id = await operator.createAction('redeploy_server', parameters);
  await end(id);
  expect(await flowsOf(id)).toEqual(once);
  expect(evictions()).toBe(sofar + 1);
});
