import type { NodeRun, SiteRun } from '#conductor/model/site-run.ts';
import type { Site } from '#conductor/sites/site.ts';
import { orderGroups } from '#conductor/sites/strategy/order-groups.ts';
import { indexOfSite, type SelectableNode, selectIndexed } from '#conductor/sites/strategy/select-nodes.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Plannable = Pick<Site, 'strategy'> & { readonly nodes: ReadonlyMap<string, SelectableNode> };

const untouched: NodeRun = { status: 'not_started' };

/**
 * A site's deployment before its first moment: groups in order, with the nodes that their selectors choose. Nodes that
 * no group chooses are none of it.
 * @throws AppError `invalid_argument` for a strategy that `orderGroups` finds faults with
 */
export function planSite({ nodes, strategy }: Plannable): SiteRun {
  const { order, faults } = orderGroups(strategy.groups);
  if (faults.length > 0) {
    const words = faults.map(({ message }) => message).join('; ');
    throw new AppError('invalid_argument', `deployment strategy ${strategy.name}: ${words}`);
  }
  const index = indexOfSite(nodes);
  const groups = order.map((definition) => ({
    definition,
    members: selectIndexed(definition.selectors, index),
    stage: 'not_started' as const,
    misses: [],
  }));
  const runs = new Map<string, NodeRun>();
  // a group of all nodes is the index's own list: looking at it once is enough
  for (const members of new Set(groups.map((group) => group.members))) {
    for (const name of members) runs.set(name, untouched);
  }
  return { groups, nodes: runs, maxParallelGroups: strategy.max_parallel_groups };
}
