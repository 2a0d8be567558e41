import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readReport } from '#conductor/cluster/cluster-changes.ts';
import { findOpenFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import { type DecommissionTimeouts, decommissionTimeouts } from '#conductor/model/site/cluster-timeouts.ts';
import { findInventory, recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { requestDecommission } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { newBudget } from '#test/simulators/kubernetes/scene.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { addedLabel, type ClustersOfNode, startClustersOfNode } from '#test/support/clusters-of-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** Other things can happen to a node that leaves its clusters, beside crashes and failures at every point. */

const name = 'leaver';
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let clusters: ClustersOfNode;

beforeAll(async () => {
  clusters = await startClustersOfNode(name);
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_KUBECONFIG: clusters.small.kubeconfigFile },
  });
  await clusters.commit(conductor.url);
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:04:01' });
  await enrolSimulatedNode(operator, machine, name);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
  await clusters.close();
});
beforeEach(() => clusters.join());

interface FlowAnswer {
  readonly kind: string;
  readonly state: string;
  readonly ended_at: string | null;
  readonly error: string | null;
  readonly advice: string | null;
  readonly held: string | null;
  readonly steps: readonly { readonly step: string; readonly state: string; readonly waiting_for: string | null }[];
}

const flow = async () => (await operator.call('GET', `/v1/nodes/${name}/flow`)) as unknown as FlowAnswer;
const row = async () => getNode(conductor.context().db, name);

async function decommission(timeouts: Partial<DecommissionTimeouts> = {}, notInClusterOk = false): Promise<void> {
  const revision = await findRevisionByRole(conductor.context().db, 'committed');
  await requestDecommission(conductor.context(), await row(), {
    revisionId: revision?.id ?? 0,
    timeouts: { ...decommissionTimeouts, drainGracePeriod: 0, ...timeouts },
    notInClusterOk,
    force: false,
    caller: { user: 'tester', project: undefined, via: undefined },
  });
}

/** Looks are seconds apart: here each is made as soon as it may be. */
const end = () =>
  waitUntil(
    'the flow to end',
    async () => {
      const node = await row();
      if (await findOpenFlow(conductor.context().db, node.uuid)) conductor.context().nudge(node.uuid);
      const seen = await flow();
      return seen.ended_at === null ? undefined : seen;
    },
    { everyMs: 100 },
  );

const waitsFor = (text: string) =>
  waitUntil(
    `the flow to wait for ${text}`,
    async () => {
      const seen = await flow();
      return seen.steps.some((each) => each.waiting_for?.includes(text)) ? seen : undefined;
    },
    { everyMs: 50 },
  );

/** A pod that its budget does not let go. @returns what lets it go */
async function guardPod(): Promise<() => void> {
  const { store } = clusters.small.simulator;
  clusters.small.addPod({ node: name, name: 'guarded', labels: { app: 'guarded' } });
  await clusters.small.settle();
  const budget = store.create('poddisruptionbudgets', newBudget('guard', 'guarded', 1));
  return () => store.remove('poddisruptionbudgets', budget);
}

/** Reads what the steps of the last flow have written down. */
async function reports() {
  const { uuid } = await operator.call('GET', `/v1/nodes/${name}/flow`);
  const steps = await listSteps(conductor.context().db, String(uuid));
  return steps.map(({ step, output }) => ({ step, ...readReport(output) }));
}

test('what was done to the clusters is written down, with what somebody needs who brings it back', async () => {
  // done, but not answered: the next look finds nothing to do
  clusters.small.simulator.inject({ method: 'PATCH', path: /nodes\/leaver$/, dropAnswer: true, times: 2 });
  await decommission();
  expect(await end()).toMatchObject({ kind: 'decommission', state: 'succeeded', error: null });
  const deeds = (await reports()).flatMap((each) => each.deeds);
  expect(deeds).toMatchObject([
    { kind: 'cordon', name, sure: true },
    { kind: 'pod', name: 'default/alone', message: expect.stringContaining('for good') as unknown, sure: true },
    { kind: 'label', name: addedLabel.key, value: addedLabel.value, sure: true },
    { kind: 'etcd member', name, value: `https://${name}.example:2380`, of: 'control', sure: true },
    { kind: 'kubelet', name, sure: true },
  ]);
  expect(clusters.members()).toEqual(['elsewhere']);
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});

test('an API server that is away for a while is waited for', async () => {
  const { simulator } = clusters.small;
  simulator.goDown();
  await decommission();
  await waitsFor('Kubernetes API server');
  simulator.comeBack();
  expect(await end()).toMatchObject({ state: 'succeeded' });
});

test('a cluster that lets nobody in for a while is waited for, unless it never let anybody in', async () => {
  const { simulator, kubeconfigFile } = clusters.small;
  const kubeconfig = await readFile(kubeconfigFile, 'utf8');
  const letGo = await guardPod();
  await decommission();
  await waitsFor('PodDisruptionBudget');
  simulator.inject({ path: /nodes\/leaver$/, status: 401, body: 'Unauthorized', times: 1_000 });
  await waitsFor('HTTP 401');
  // as it is while somebody writes it
  await writeFile(kubeconfigFile, kubeconfig.slice(0, 40));
  simulator.clearFaults();
  await waitsFor('BATON_KUBECONFIG');
  await writeFile(kubeconfigFile, kubeconfig);
  letGo();
  expect(await end()).toMatchObject({ state: 'succeeded' });

  await clusters.join();
  simulator.inject({ path: /nodes\/leaver$/, status: 403, body: 'Forbidden', times: 2 });
  await decommission();
  const refused = await end();
  simulator.clearFaults();
  expect(refused).toMatchObject({ state: 'failed', error: expect.stringContaining('HTTP 403') as unknown });
});

test('a node that etcd can not do without keeps its pods', async () => {
  await clusters.rejoin('second-boot');
  clusters.small.addPod({ node: name, name: 'alone' });
  await clusters.small.settle();
  await decommission();
  const { state, error } = await end();
  expect([state, error]).toEqual(['failed', expect.stringContaining('would leave the cluster without members')]);
  expect(clusters.small.node(name)?.spec?.['unschedulable']).toBeUndefined();
  expect(clusters.small.podsOn(name).map(({ metadata }) => metadata.name)).toContain('alone');
});

test("another site's node of the same name is not touched", async () => {
  const { store } = clusters.small.simulator;
  const { db } = conductor.context();
  const { uuid: nodeUuid } = await row();
  const kept = (await findInventory(db, nodeUuid))?.inventory;
  const reportUuid = (systemUUID: string): void => {
    const node = store.get('nodes', name);
    store.replace('nodes', { ...node, status: { ...node.status, nodeInfo: { systemUUID } } });
  };
  const own = '4c4c4544-0051-3510-8052-b4c04f4a4d31';
  const inventory = { interfaces: [], ...kept, system_vendor: { baton_system_uuid: own } };
  await recordInspected(db, { nodeUuid, inventory });
  const other = own.replaceAll('4', '7');
  reportUuid(other);
  await decommission();
  const refused = await end();
  expect(refused.state).toBe('failed');
  expect(refused.error).toContain(`is another machine: its system UUID is ${other}, the inventory's ${own}`);
  expect(clusters.small.node(name)?.spec?.['unschedulable']).toBeUndefined();

  reportUuid(own);
  await decommission();
  expect(await end()).toMatchObject({ state: 'succeeded' });
  if (kept) await recordInspected(db, { nodeUuid, inventory: kept });
});

test('a drain that never ends ends at its timeout, names the pod, and leaves the rest alone', async () => {
  const letGo = await guardPod();
  await decommission({ drainTimeout: 5 });
  const { state, error, advice } = await end();
  letGo();
  expect(state).toBe('failed');
  expect(error).toContain('Pod default/guarded may not be evicted now: PodDisruptionBudget default/guard forbids it');
  expect(error).toContain(
    `to allow pods on it again: \`baton restore-labels ${name}\` (or \`kubectl uncordon ${name}\`)`,
  );
  expect(advice).toContain(`\`kubectl uncordon ${name}\``);
  expect((await row()).provisionState).toBe('active');
  expect((await row()).lastError).toBe(error);
  expect(clusters.small.node(name)?.metadata.labels).toHaveProperty(addedLabel.key);
  expect(clusters.members()).toContain(name);
});

test('while it runs nothing else begins; it is stopped by abort, and says what remains', async () => {
  const letGo = await guardPod();
  await decommission();
  await waitsFor('default/guarded');
  for (const verb of ['deleted', 'rebuild'] as const) {
    await expect(operator.provision(name, verb)).rejects.toThrow(
      /409.*its decommission is under way.*baton abort leaver/,
    );
  }
  await expect(decommission()).rejects.toThrow('its decommission is under way');
  await operator.provision(name, 'abort');
  const { state, error, steps } = await end();
  letGo();
  expect(state).toBe('aborted');
  expect(error).toMatch(/^stopped by the operator's 'abort'\. What remains by hand: .*kubectl uncordon leaver/);
  expect(steps.map((each) => each.state)).toEqual(['failed', 'skipped', 'skipped', 'skipped', 'skipped']);
  expect((await row()).provisionState).toBe('active');
  await expect(operator.provision(name, 'abort')).rejects.toThrow('can not be performed on node');
});

test('maintenance holds it, and its time with it', async () => {
  const letGo = await guardPod();
  await decommission({ drainTimeout: 120 });
  await waitsFor('default/guarded');
  await operator.call('PUT', `/v1/nodes/${name}/maintenance`, { reason: 'a hand in it' });
  await waitUntil('the flow to be held', async () => ((await flow()).held === null ? undefined : true), {
    everyMs: 50,
  });
  letGo();
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  expect(await end()).toMatchObject({ state: 'succeeded' });
});

test('a kubelet that can not be shut down is told, and holds nothing up', async () => {
  clusters.small.simulator.inject({ method: 'GET', path: /leases\/leaver$/, status: 403, times: 2 });
  await decommission();
  expect(await end()).toMatchObject({ state: 'succeeded' });
  expect((await reports()).at(-1)).toMatchObject({
    step: 'shutdown_kubelet',
    messages: [{ error: true, message: expect.stringContaining('HTTP 403') as unknown }],
  });
});

test('a node with an instance that is not in the cluster is a mistake, unless it is said to be right', async () => {
  const { store } = clusters.small.simulator;
  store.remove('nodes', store.get('nodes', name));
  await decommission();
  const { state, error } = await end();
  expect(state).toBe('failed');
  expect(error).toMatch(/BATON_KUBECONFIG may name another one.*ask again with --param not-in-cluster-ok=true/);
  expect(clusters.members()).toContain(name);

  await decommission({}, true);
  expect(await end()).toMatchObject({ state: 'succeeded' });
  expect(clusters.members()).toEqual(['elsewhere']);
});

test('a revision that has no such node, a drain without time for its pods, a protected node: refused', async () => {
  await expect(decommission({ drainTimeout: 5, drainGracePeriod: 5 })).rejects.toThrow('must be less than');
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/protected', value: true }]);
  await expect(decommission()).rejects.toThrow('protected');
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/protected', value: false }]);
});

test('what other nodes lack by then keeps none from leaving', async () => {
  const site = createSiteOperator(conductor.url);
  await site.setCredential('gone', { username: 'admin', password: 'secret' });
  const oob = '{type: redfish, address: "https://192.0.2.77", credential: gone}';
  const other = nodeDocument('n77').replace('{type: fake, fake_id: n77}', oob);
  expect(other).toContain('credential: gone');
  await clusters.commit(conductor.url, other);
  await site.call('DELETE', '/credentials/gone?force=true');
  await decommission();
  expect(await end()).toMatchObject({ state: 'succeeded', error: null });
  expect(clusters.members()).toEqual(['elsewhere']);
});

test('an abort while the cluster keeps silent is taken, and ends it after that look', async () => {
  const { simulator } = clusters.small;
  simulator.inject({ path: /nodes\/leaver$/, hang: true });
  await decommission();
  await waitUntil('the look', async () => ((await operator.node(name))['reservation'] === null ? undefined : true), {
    everyMs: 20,
  });
  await operator.provision(name, 'abort');
  expect((await flow()).advice).toBe('It stops when the look of cluster.drain that is under way has ended.');
  const { state, error } = await end();
  simulator.clearFaults();
  expect(state).toBe('aborted');
  expect(error).toContain("stopped by the operator's 'abort'");
});
