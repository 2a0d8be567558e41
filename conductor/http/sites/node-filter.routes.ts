import { z } from 'zod';
import { SiteGroups } from '#conductor/api/sites.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originsOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { airshipPath, airshipQuery } from '#conductor/http/sites/airship-values.ts';
import { Design } from '#conductor/http/sites/etcd.routes.ts';
import { filterNodes, readNodeFilter } from '#conductor/sites/documents/node-filter.ts';
import { findDesign } from '#conductor/sites/revisions/find-design.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';

const route = routesOf('site groups');

const NodeFilterBody = z.strictObject({
  design_ref: Design,
  /** Drydock's, or selectors: `readNodeFilter` says what is wrong with it. */
  node_filter: z.unknown().optional(),
});

const filter = route.post(
  `${airshipPath}/nodefilter`,
  'List the nodes of a design that a node filter, or selectors of a deployment strategy, choose',
  answers(200, 'a list of node names, in the order of the documents', z.array(z.string())),
  { limits: 'usual', body: NodeFilterBody },
);

const groups = route.get(
  `${airshipPath}/site/groups`,
  'Show the groups of a site in an order in which they can be deployed, with their nodes',
  answers(200, 'the strategy and its groups', SiteGroups),
  { query: airshipQuery({ version: z.string().default('committed') }) },
);

/**
 * Mounts what shows a site's choice and plan before anything is done: `/api/v1.0/nodefilter`, `/api/v1.0/site/groups`.
 */
export function nodeFilterRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(filter, async (c) => {
    const { design_ref: reference, node_filter: nodeFilter } = c.req.valid('json');
    const wanted = readNodeFilter(nodeFilter, 'node_filter');
    const { site } = await findDesign(context, reference, 'design_ref', originsOf(c));
    return c.json(filterNodes(wanted, site.nodes));
  });

  app.openapi(groups, async (c) => {
    const { site, revision } = await findDesign(context, c.req.valid('query').version, 'version', originsOf(c));
    const plan = planSite(site);
    return c.json({
      revision,
      strategy: site.strategy.name,
      max_parallel_groups: plan.maxParallelGroups,
      groups: plan.groups.map(({ definition, members }) => ({ ...definition, members })),
    });
  });
}
