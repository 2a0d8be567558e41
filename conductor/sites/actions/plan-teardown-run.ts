import { type ActionParameters, timeoutsOf } from '#conductor/model/action-parameters.ts';
import { nodeStepDefaults } from '#conductor/model/cluster-timeouts.ts';
import type { GroupDefinition, SiteRun } from '#conductor/model/site-run.ts';
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
