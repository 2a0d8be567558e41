import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { cpuSeconds, loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

const nodeCount = 1000;
const groupCount = 20;

/** Settings as an operator sets them for a site of this size on two cores. */
const settings = {
  BATON_LOG_LEVEL: 'warn',
  BATON_FAST_TRACK: 'true',
  BATON_MAX_ACTIVE_NODES: '200',
  BATON_RECONCILE_INTERVAL: '5',
};

/**
 * A thousand simulated machines, from documents alone to `active`: enrolled, cleaned, deployed by strategy, 20 groups at
 * the same time, over Redfish, HTTPS to each agent and PostgreSQL. Machines and agents live in this process and share
 * the cores with the conductor.
 */
export async function measureSiteDeploy(context: BenchContext): Promise<Record<string, Figure>> {
  const database = await startPostgresql({ durable: true });
  const conductor = await prepareConductor({ ...settings, DATABASE_URL: database.url });
  let site: SimulatedSite | undefined;
  try {
    await conductor.start();
    context.say(`starting ${nodeCount} simulated machines`);
    const members = Array.from({ length: nodeCount }, (_, index) => ({
      name: `bench-${String(index).padStart(4, '0')}`,
      rack: `rack${index % groupCount}`,
      tags: ['worker'],
    }));
    site = await startSimulatedSite(members, { conductorUrl: () => conductor.url, stepMs: 0, deploySteps: {} });
    return await deploy(context, conductor, site.documents);
  } finally {
    await site?.close();
    await conductor.close();
    await database.close();
  }
}

async function deploy(
  { say }: BenchContext,
  conductor: ConductorProcess,
  documents: string,
): Promise<Record<string, Figure>> {
  const operator = createSiteOperator(conductor.url);
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  await operator.commit('site', `${documents}---\n${strategy()}`);
  const cpuBefore = await cpuSeconds(conductor.pid());
  const startedAt = performance.now();
  const id = await operator.createAction('deploy_site');
  const action = await operator.waitForEnd(id, 900_000);
  const wall = (performance.now() - startedAt) / 1000;
  const failed = (await operator.actionNodes(id)).filter(({ status }) => status !== 'success');
  if (action.action_lifecycle !== 'Complete' || failed.length > 0) {
    throw new Error(`the action is ${action.action_lifecycle}, ${failed.length} nodes failed: ${failed[0]?.reason}`);
  }
  const cpu = (await cpuSeconds(conductor.pid())) - cpuBefore;
  say(`${round((1000 * cpu) / nodeCount)} ms of the conductor's CPU for each node; load ${await loadAverage()}`);
  return {
    deploy_1000_s: { value: round(wall), unit: 's' },
    rss_mb: { value: await residentMegabytes(conductor.pid(), 'VmHWM'), unit: 'MB' },
  };
}

function strategy(): string {
  return siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
    max_parallel_groups: groupCount,
    groups: Array.from({ length: groupCount }, (_, index) => ({
      name: `rack-${index}`,
      critical: true,
      depends_on: [],
      selectors: [{ rack_names: [`rack${index}`] }],
      success_criteria: { percent_successful_nodes: 100 },
      deploy_as_prepared: true,
    })),
  });
}
