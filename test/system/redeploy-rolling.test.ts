import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { ActionAnswer } from '#conductor/api/actions.ts';
import { isReady } from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type Kubelets, startKubelets } from '#test/simulators/kubernetes/kubelets.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator } from '#test/support/operator.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/** A rolling redeploy takes one node out at a time, and the next only when the one before is Ready in its cluster again. */

const names = ['n1', 'n2', 'n3'];
const quick = { 'drain-node-timeout': 60, 'drain-node-grace-period': 1 };
let small: SmallCluster;
let conductor: ConductorInProcess;
let operator: SiteOperator;
let site: SimulatedSite;
let kubelets: Kubelets;
let mostOut = 0;
let watching: NodeJS.Timeout;

const settings = (nodeStatusTimeout: number) =>
  siteDocument('shipyard/DeploymentConfiguration/v1', 'deployment-configuration', {
    physical_provisioner: { join_wait: 0 },
    kubernetes: { node_status_interval: 1, node_status_timeout: nodeStatusTimeout },
  });

beforeAll(async () => {
  small = await startSmallCluster();
  for (const name of ['n1', 'n2']) {
    const node = small.node(name);
    if (node) small.simulator.store.remove('nodes', node);
  }
  const cluster = await openCluster(small.kubeconfigFile);
  await applyDaemonSet(cluster, undefined, AbortSignal.timeout(10_000));
  await cluster.close();
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_KUBECONFIG: small.kubeconfigFile, BATON_RECONCILE_INTERVAL: '0.5' },
  });
  operator = createSiteOperator(conductor.url);
  site = await startSimulatedSite(
    names.map((name) => ({ name, rack: 'rack01', tags: [] })),
    { conductorUrl: () => conductor.url },
  );
  kubelets = startKubelets(small.simulator, site.machines);
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  await operator.commit('site', [site.documents, settings(60)].join('---\n'));
});
beforeEach(() => {
  mostOut = 0;
  onTestFailed(async () => {
    process.stderr.write(
      JSON.stringify(
        await Promise.all(names.map((name) => createOperator(conductor.url).call('GET', `/v1/nodes/${name}/flow`))),
        null,
        1,
      ).slice(0, 6000),
    );
  });
});
afterAll(async () => {
  clearInterval(watching);
  kubelets?.close();
  await site?.close();
  await conductor?.close();
  await small?.close();
});

/** Members that are not there, or not Ready, or take no pods. */
const out = (): string[] =>
  names.filter((name) => {
    const node = small.node(name);
    return !node || node.spec?.['unschedulable'] === true || !isReady(node);
  });

async function end(id: string): Promise<ActionAnswer> {
  return operator.waitForEnd(id);
}

test('the first deploy counts when its nodes have joined, as the documents say that they will', async () => {
  const seen = Promise.withResolvers<void>();
  kubelets.set('n2', { after: seen.promise });
  const id = await operator.createAction('deploy_site');
  const waiting = await waitUntil(
    'n2 to be waited for',
    async () => {
      const n2 = (await operator.actionNodes(id)).find(({ name }) => name === 'n2');
      return n2?.doing?.includes('wait_until_ready, waiting for node to be Ready in Kubernetes') ? n2 : undefined;
    },
    { everyMs: 20 },
  );
  expect(waiting.doing).toMatch(/it has not joined yet \(since 20\S+Z, until 20\S+Z\)$/);
  expect(waiting.status).not.toBe('success');
  seen.resolve();
  expect(await end(id)).toMatchObject({ action_lifecycle: 'Complete' });
  expect(out()).toEqual([]);
  const flow = await createOperator(conductor.url).call('GET', '/v1/nodes/n2/flow');
  expect(flow).toMatchObject({ kind: 'enter_service', state: 'succeeded' });
});

test('redeployed one after another, no more than one is out at any time, however late they join', async () => {
  watching = setInterval(() => {
    mostOut = Math.max(mostOut, out().length);
  }, 5);
  kubelets.set('n1', { after: 2_000 });
  kubelets.set('n2', { after: 0 });
  kubelets.set('n3', { after: 500 });
  const before = new Map(names.map((name) => [name, small.node(name)?.metadata.uid]));
  const id = await operator.createAction('redeploy_server', { target_nodes: names, ...quick });
  expect(await end(id)).toMatchObject({ action_lifecycle: 'Complete' });
  expect(mostOut).toBe(1);
  for (const name of names) expect(small.node(name)?.metadata.uid).not.toBe(before.get(name));
});

test('one that never joins, and one that reports its old boot, fails, and the next is not touched', async () => {
  await operator.commit('site', [site.documents, settings(4)].join('---\n'));
  const update = await operator.createAction('update_site');
  expect(await end(update)).toMatchObject({ action_lifecycle: 'Complete' });
  const wipes = (name: string) => site.machines.get(name)?.disk.filter((entry) => entry.startsWith('erase_')).length;
  const untouched = wipes('n2');
  kubelets.set('n1', { after: 'never' });
  const never = await end(await operator.createAction('redeploy_server', { target_nodes: ['n1', 'n2'], ...quick }));
  expect(never).toMatchObject({ action_lifecycle: 'Failed' });
  expect(wipes('n2')).toBe(untouched);
  expect(small.node('n2')?.spec).not.toMatchObject({ unschedulable: true });
  // update_site waits for it once more
  const again = await end(await operator.createAction('update_site'));
  expect(again).toMatchObject({ action_lifecycle: 'Failed' });

  kubelets.set('n1', { after: 0, asImpostor: true });
  // its last redeploy has left it out of the cluster
  const impostor = await end(await operator.createAction('redeploy_server', { target_nodes: ['n1', 'n2'], ...quick }));
  expect(impostor).toMatchObject({ action_lifecycle: 'Failed' });
  const nodes = await operator.actionNodes(impostor.id);
  expect(nodes.find(({ name }) => name === 'n1')?.reason).toMatch(/the boot n1-boot-\d+ of before the deploy/);
  expect(wipes('n2')).toBe(untouched);
  expect(mostOut).toBeLessThanOrEqual(1);
});
