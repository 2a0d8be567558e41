import { hasRollout, type RolloutRules } from '#conductor/model/site/rollout.ts';
import type { GroupRun } from '#conductor/model/site/site-run.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

type Placed = Pick<SiteNode, 'rack' | 'labels'>;
type Nodes = ReadonlyMap<string, Placed>;

/** Puts a group's members into the order of its rollout, with the domains that its limits hold in. Pure. */
export function planRollout(
  rules: RolloutRules,
  chosen: readonly string[],
  nodes: Nodes,
): Pick<GroupRun, 'members' | 'rollout'> {
  const members = rules.order ? inOrder(rules.order, chosen, nodes) : chosen;
  if (!hasRollout(rules)) return { members };
  const kinds = new Set((rules.max_unavailable ?? []).flatMap(({ per }) => per ?? []));
  const domains = Object.fromEntries(
    [...kinds].map((per) => [per, members.map((name) => domainOf(nodes.get(name), per))]),
  );
  return { members, rollout: { domains, excused: [] } };
}

/** @param per `rack`, `label:KEY` @returns empty where its document does not say */
function domainOf(node: Placed | undefined, per: string): string {
  if (per === 'rack') return node?.rack ?? '';
  return node?.labels[per.slice('label:'.length)] ?? '';
}

/** Together: one domain after the other, as each comes first; spread: one of each, then the next of each. */
function inOrder(
  { by, manner }: NonNullable<RolloutRules['order']>,
  names: readonly string[],
  nodes: Nodes,
): readonly string[] {
  const domains = [...Map.groupBy(names, (name) => domainOf(nodes.get(name), by)).values()];
  if (manner === 'together') return domains.flat();
  const longest = Math.max(0, ...domains.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => domains.flatMap((each) => each[place] ?? [])).flat();
}
