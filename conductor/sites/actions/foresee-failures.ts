import type { SiteRun } from '#conductor/model/site-run.ts';
import { findUnfit } from '#conductor/sites/nodes/find-unfit.ts';
import type { DesignContext } from '#conductor/sites/nodes/read-design.ts';
import { readDeployed, readObserved } from '#conductor/sites/nodes/read-observed.ts';
import type { Site } from '#conductor/sites/site.ts';
import { describeMisses, judge } from '#conductor/sites/strategy/judge.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/name-some.ts';

const namedAtMost = 5;

export interface Foreseen {
  /** Nodes that fail before anything of them is touched, by name: why. */
  readonly nodes: ReadonlyMap<string, string>;
  /** Critical groups that can't meet their criteria without them: the action can only fail. */
  readonly groups: readonly string[];
}

/** What an action that deploys groups is known to fail for; what the site has deployed already stays as it is. */
export async function foreseeFailures(
  context: DesignContext,
  { site, run }: { readonly site: Pick<Site, 'nodes'>; readonly run: SiteRun },
): Promise<Foreseen> {
  const names = [...run.nodes.keys()];
  const [observed, deployed] = await Promise.all([readObserved(context.db, names), readDeployed(context.db, names)]);
  const isThere = (name: string): boolean => {
    const instance = observed.get(name)?.node.instanceUuid ?? null;
    return instance !== null && deployed.get(name)?.instanceUuid === instance;
  };
  const nodes = await findUnfit(context, { site, names: names.filter((name) => !isThere(name)) });
  if (nodes.size === 0) return { nodes, groups: [] };
  const groups = run.groups.flatMap(({ definition, members }) => {
    const able = members.filter((name) => !nodes.has(name)).length;
    const tally = { members: members.length, succeeded: able };
    const misses = definition.critical ? judge(definition.success_criteria, tally) : [];
    if (misses.length === 0) return [];
    const unfit = members.filter((name) => nodes.has(name));
    const named = nameSome(
      unfit.map((name) => `${name}: ${nodes.get(name) ?? ''}`),
      namedAtMost,
    );
    return [`critical group ${definition.name} can't succeed (at best ${describeMisses(misses, tally)}): ${named}`];
  });
  return { nodes, groups };
}

/** @throws AppError `conflict` for an action that can only fail */
export function requireNoFailure(name: string, { nodes, groups }: Foreseen): void {
  if (groups.length === 0) return;
  throw new AppError('conflict', `${name} not started: ${groups.join('; ')}`, {
    details: { reason: 'NodesNotDeployable', nodes: Object.fromEntries(nodes) },
  });
}
