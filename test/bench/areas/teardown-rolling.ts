import { isReady } from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { startKubelets } from '#test/simulators/kubernetes/kubelets.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

const names = Array.from({ length: 20 }, (_, index) => `bench-${String(index).padStart(2, '0')}`);
/** Milliseconds from its boot on; on a real site a minute: nothing but the wait itself depends on it. */
const joinMs = (index: number): number => ((index * 7) % 20) * 300;

/**
 * Measures what a rolling redeploy of 20 simulated machines takes beyond the time that their kubelets take to join:
 * drain, labels, wipe, deploy and the wait for Ready, a node. Machines, agents and the API server live in this process.
 */
export async function measureRolling(context: BenchContext): Promise<Record<string, Figure>> {
  const small = await startSmallCluster();
  for (const node of small.simulator.store.list('nodes')) small.simulator.store.remove('nodes', node);
  const cluster = await openCluster(small.kubeconfigFile);
  await applyDaemonSet(cluster, undefined, AbortSignal.timeout(10_000));
  await cluster.close();
  const database = await startPostgresql({ durable: true });
  const conductor = await prepareConductor({
    BATON_LOG_LEVEL: 'warn',
    BATON_KUBECONFIG: small.kubeconfigFile,
    DATABASE_URL: database.url,
  });
  let site: SimulatedSite | undefined;
  try {
    await conductor.start();
    const members = names.map((name) => ({ name, rack: 'rack01', tags: [] }));
    site = await startSimulatedSite(members, { conductorUrl: () => conductor.url, stepMs: 0, deploySteps: {} });
    return await redeploy(context, { small, conductor, site });
  } finally {
    await site?.close();
    await conductor.close();
    await database.close();
    await small.close();
  }
}

async function redeploy(
  { say }: BenchContext,
  { small, conductor, site }: { small: SmallCluster; conductor: ConductorProcess; site: SimulatedSite },
): Promise<Record<string, Figure>> {
  const kubelets = startKubelets(small.simulator, site.machines);
  const operator = createSiteOperator(conductor.url);
  const end = async (id: string): Promise<void> => {
    const action = await operator.waitForEnd(id, 900_000);
    if (action.action_lifecycle !== 'Complete') throw new Error(`${action.name} is ${action.action_lifecycle}`);
  };
  const state = { mostOut: 0 };
  let watching: NodeJS.Timeout | undefined;
  try {
    await operator.setCredential(bmcCredential.name, bmcCredential.account);
    const configuration = siteDocument('shipyard/DeploymentConfiguration/v1', 'deployment-configuration', {
      kubernetes: { node_status_interval: 1, node_status_timeout: 120 },
    });
    await operator.commit('site', [site.documents, configuration].join('---\n'));
    await end(await operator.createAction('deploy_site'));
    for (const [index, name] of names.entries()) kubelets.set(name, { after: joinMs(index) });
    const isOut = (name: string): boolean => {
      const node = small.node(name);
      return !node || node.spec?.['unschedulable'] === true || !isReady(node);
    };
    watching = setInterval(() => {
      state.mostOut = Math.max(state.mostOut, names.filter(isOut).length);
    }, 20);
    const startedAt = performance.now();
    const quick = { 'drain-node-timeout': 60, 'drain-node-grace-period': 1 };
    await end(await operator.createAction('redeploy_server', { target_nodes: names, ...quick }));
    const wall = (performance.now() - startedAt) / 1000;
    const joins = names.reduce((sum, _, index) => sum + joinMs(index), 0) / 1000;
    say(`${round(wall)} s for ${names.length} nodes, ${joins} s of it joins; load ${await loadAverage()}`);
    return {
      rolling_overhead_s: { value: round((wall - joins) / names.length, 2), unit: 's' },
      rolling_most_out: { value: state.mostOut, unit: 'nodes' },
    };
  } finally {
    clearInterval(watching);
    kubelets.close();
  }
}
