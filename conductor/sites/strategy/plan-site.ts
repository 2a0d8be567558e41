import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { GroupDefinition, NodeRun, SiteRun } from '#conductor/model/site/site-run.ts';
import { findCycles, orderByNeeds } from '#conductor/sites/needs.ts';
import type { Site } from '#conductor/sites/site.ts';
import { planRollout } from '#conductor/sites/strategy/rollout/plan-rollout.ts';
import { indexOfSite, type SelectableNode, selectIndexed } from '#conductor/sites/strategy/select-nodes.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Orderable = Pick<GroupDefinition, 'name' | 'depends_on'>;

/**
 * Groups in an order in which each stands after all that it depends on; of those that may come next, the one that is
 * first in the document (seed 000, "Dependencies"). With faults the order has only what can be ordered: no second group
 * of a name, none of a cycle and none behind one.
 * @returns faults `DuplicateGroup`, `UnknownDependency`, `SelfDependency`, `DependencyCycle`, with paths in the strategy
 */
export function orderGroups<Group extends Orderable>(
  groups: readonly Group[],
): { order: Group[]; faults: SiteFault[] } {
  const faults: SiteFault[] = [];
  const places = new Map<string, number>();
  groups.forEach(({ name }, index) => {
    const first = places.get(name);
    if (first === undefined) places.set(name, index);
    else faults.push(duplicate(name, first, index));
  });
  const edges = groups.map((group, index) =>
    places.get(group.name) === index ? dependenciesOf(group, index, places, faults) : undefined,
  );
  const order = orderByNeeds(edges)
    .map((index) => groups[index])
    .filter((group) => group !== undefined);
  if (order.length < places.size) {
    const ordered = new Set(order.map(({ name }) => places.get(name)));
    const left = edges.map((each, index) => (ordered.has(index) ? undefined : each));
    faults.push(...findCycles(left).map((cycle) => cycleFault(cycle, groups)));
  }
  return { order, faults };
}

/** Positions of the groups that this one depends on; what can't be followed becomes a fault. */
function dependenciesOf(
  { name, depends_on: dependencies }: Orderable,
  index: number,
  places: ReadonlyMap<string, number>,
  faults: SiteFault[],
): readonly number[] {
  const found = new Set<number>();
  dependencies.forEach((dependency, nth) => {
    const place = places.get(dependency);
    const path = `data.groups[${index}].depends_on[${nth}]`;
    if (place === index) {
      faults.push({
        level: 'Error',
        name: 'SelfDependency',
        message: `group ${name} depends on itself; it may depend on other groups`,
        path,
      });
    } else if (place === undefined) {
      const known = [...places.keys()].filter((other) => other !== name).join(', ');
      faults.push({
        level: 'Error',
        name: 'UnknownDependency',
        message: `group ${name} depends on ${dependency}, which is not a group; there are ${known || 'no others'}`,
        path,
      });
    } else found.add(place);
  });
  return [...found];
}

function duplicate(name: string, first: number, index: number): SiteFault {
  return {
    level: 'Error',
    name: 'DuplicateGroup',
    message: `group ${name} stands here again, after data.groups[${first}]; each group needs a name of its own`,
    path: `data.groups[${index}].name`,
  };
}

function cycleFault(cycle: readonly number[], groups: readonly Orderable[]): SiteFault {
  const names = cycle.map((index) => groups[index]?.name ?? '');
  return {
    level: 'Error',
    name: 'DependencyCycle',
    message: `groups depend on each other in a circle: ${[...names, names[0]].join(' → ')} (→ = depends on); one of these dependencies must go`,
    path: `data.groups[${cycle[0] ?? 0}].depends_on`,
  };
}

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
    ...planRollout(definition, selectIndexed(definition.selectors, index), nodes),
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
