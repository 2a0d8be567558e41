import {
  type ActionClusters,
  type ActionName,
  type ActionParameters,
  timeoutsOf,
} from '#conductor/model/site/action-parameters.ts';
import { actionTable, readActionParameters } from '#conductor/model/site/action-table.ts';
import { nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import type { GroupDefinition, SiteRun } from '#conductor/model/site/site-run.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import type { Site } from '#conductor/sites/site.ts';

/** Overwriting the largest disks takes days; what has fallen silent is ended by its flow long before. */
const wipeSeconds = 14 * 24 * 3600;

/**
 * A run with one critical group for each target node, each depending on the one before: a node leaves its clusters only
 * when the one before it is back, and a failure ends the rest. The time of a group's first phase, in which its node is
 * torn down, cuts none of the steps' own. Pure.
 */
export function planTeardownRun({ timeouts }: Pick<Site, 'timeouts'>, parameters: ActionParameters): SiteRun {
  const names = parameters.target_nodes ?? [];
  const groups = names.map((name, index) => {
    const before = index === 0 ? [] : names.slice(index - 1, index);
    const definition: GroupDefinition = {
      name,
      critical: true,
      depends_on: before,
      selectors: [{ node_names: [name] }],
      success_criteria: { percent_successful_nodes: 100 },
      prepare_timeout: timeouts.prepare + teardownSeconds(parameters),
    };
    return { definition, members: [name], stage: 'not_started' as const, misses: [] };
  });
  return {
    groups,
    nodes: new Map(names.map((name) => [name, { status: 'not_started' as const }])),
    maxParallelGroups: 1,
  };
}

function teardownSeconds(parameters: ActionParameters): number {
  const { drainTimeout, clearLabelsTimeout, removeEtcdTimeout, etcdReadyTimeout } = timeoutsOf(parameters);
  const { shutdownKubeletTimeout, removeFromClusterTimeout } = nodeStepDefaults;
  const cluster = drainTimeout + clearLabelsTimeout + removeEtcdTimeout + etcdReadyTimeout;
  return cluster + shutdownKubeletTimeout + removeFromClusterTimeout + wipeSeconds;
}

/** Which clusters nodes are taken out of, as far as a conductor knows of them. Pure. */
export function clustersOf(
  { etcdClusters }: Pick<Site, 'etcdClusters'>,
  { kubeconfigFile }: Pick<Asked, 'kubeconfigFile'>,
): ActionClusters {
  return { kubernetes: kubeconfigFile !== undefined, etcd: etcdClusters.length > 0 };
}

interface Asked {
  readonly kubeconfigFile?: string | undefined;
  readonly conductorName: string;
}

/**
 * How an action has its nodes torn down; `undefined` = it tears nothing down. Pure.
 * @param clusters as the action's row has them, no matter who runs it; `null` = this is asked before there is a row
 */
export function teardownOrder(
  {
    name,
    parameters: given,
    clusters,
  }: {
    readonly name: ActionName;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly clusters: ActionClusters | null;
  },
  site: Pick<Site, 'etcdClusters'>,
  asked: Asked,
): TeardownOrder | undefined {
  const { teardown } = actionTable[name];
  if (teardown === undefined) return undefined;
  const parameters = readActionParameters(name, given);
  const known = clusters ?? clustersOf(site, asked);
  const lacks =
    known.kubernetes && asked.kubeconfigFile === undefined
      ? `conductor ${asked.conductorName}, which runs the action, has no BATON_KUBECONFIG, and the action began with one`
      : undefined;
  return {
    preserveLocalStorage: parameters['preserve-local-storage'] === true,
    timeouts: timeoutsOf(parameters),
    notInClusterOk: parameters['not-in-cluster-ok'] === true,
    force: parameters.force === true,
    ...known,
    ...(lacks === undefined ? {} : { lacks }),
    afterwards: whatFollows(teardown, parameters),
  };
}

function whatFollows(
  teardown: 'then deploys' | 'then keeps',
  parameters: ActionParameters,
): TeardownOrder['afterwards'] {
  if (teardown === 'then deploys') return 'deploy';
  return parameters['remove-node'] === true ? 'remove' : 'keep';
}
