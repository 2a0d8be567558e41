import type { Area, BenchContext, Figure } from '#test/bench/area.ts';
import { round } from '#test/bench/area.ts';
import { describeCost, type FleetScene, heaviest, openScene } from '#test/bench/fleet/scene.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { bmcCredential, siteDocument } from '#test/support/simulated-site.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

const nodes = Number(process.env['FLEET_NODES'] ?? 500);
const conductors = Number(process.env['FLEET_CONDUCTORS'] ?? 2);
const groups = 40;
const deadEvery = 50;
/** Settings as an operator sets them for a site of this size on two cores. */
const settings = {
  BATON_FAST_TRACK: 'true',
  BATON_MAX_ACTIVE_NODES: '200',
  BATON_RECONCILE_INTERVAL: '5',
  // a dead BMC is given up after it and the try that is under way: the action ends no sooner
  BATON_RETRY_TIMEOUT: process.env['FLEET_RETRY_S'] ?? '300',
};
const hourMs = 3_600_000;
const watchEveryMs = 15_000;
const askEveryMs = 2_000;

/**
 * Area of a site from nothing: `FLEET_NODES` simulated machines (500), every 50th BMC dead, enrolled and deployed from
 * documents in 40 groups by `FLEET_CONDUCTORS` conductors (2). Nodes that live and are not deployed are stuck.
 */
export const fleetSiteArea: Area = {
  name: 'fleet_site',
  measure: async (context) => {
    const scene = await openScene({ nodes, conductors, groups, settings });
    try {
      return await deploy(context, scene);
    } finally {
      await scene.close();
    }
  },
};

async function deploy({ say }: BenchContext, scene: FleetScene): Promise<Record<string, Figure>> {
  const { machines, database } = scene;
  const operator = createSiteOperator(scene.conductors[0]?.url ?? '');
  const dead = await machines.killEvery(deadEvery);
  say(`${nodes} machines, of which ${dead} have a dead BMC`);
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  await operator.commit('site', `${machines.documents}---\n${strategy()}`);
  await database.query('select pg_stat_statements_reset()');
  const { result: id, cost } = await scene.spent(async () => {
    const action = await operator.createAction('deploy_site');
    const watching = watch(scene, say);
    await operator.waitForEnd(action, hourMs, askEveryMs).finally(() => watching.stop());
    return action;
  });
  const reached = (await operator.actionNodes(id)).filter(({ status }) => status === 'success').length;
  say(`${reached} deployed: ${describeCost(cost, nodes)}; load ${await loadAverage()}`);
  for (const line of await heaviest(database)) say(`  ${line}`);
  for (const line of await heaviest(database, 30, 'calls')) say(`  often: ${line}`);
  return {
    from_nothing_min: { value: round(cost.wall / 60, 2), unit: 'min' },
    stuck: { value: nodes - dead - reached, unit: `of ${nodes - dead}` },
    conductor_load_mb: { value: await scene.conductorMegabytes('VmHWM'), unit: 'MB' },
    database_kb_per_deploy: { value: round((1000 * cost.databaseMegabytes) / nodes), unit: 'kB, before pruning' },
    wal_kb_per_deploy: { value: round((1000 * cost.walMegabytes) / nodes), unit: 'kB' },
    statements_per_deploy: { value: round(cost.statements / nodes), unit: 'statements' },
    conductor_cpu_ms_per_deploy: { value: round((1000 * cost.conductors) / nodes), unit: 'ms, all conductors' },
  };
}

/** Says every so often how far the nodes are, which tells a slow fleet from one that waits for its dead. */
function watch({ database }: FleetScene, say: (line: string) => void): { stop(): void } {
  const startedAt = performance.now();
  const look = async (): Promise<void> => {
    const { rows } = await database.query<{ line: string }>(
      `select string_agg(format('%s %s', n, state), ', ' order by n desc) as line from
         (select provision_state as state, count(*) as n from nodes group by 1) as states`,
    );
    say(
      `${round((performance.now() - startedAt) / 1000, 0)} s: ${rows[0]?.line ?? 'none'}; load ${await loadAverage()}`,
    );
  };
  const timer = setInterval(() => void look(), watchEveryMs);
  return { stop: () => clearInterval(timer) };
}

/** Groups of one rack each, which bear their dead machines. */
function strategy(): string {
  return siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
    max_parallel_groups: groups,
    groups: Array.from({ length: groups }, (_, index) => ({
      name: `rack-${index}`,
      critical: false,
      depends_on: [],
      selectors: [{ rack_names: [`rack${index}`] }],
      success_criteria: { minimum_successful_nodes: 0 },
      deploy_as_prepared: true,
    })),
  });
}
