import { z } from 'zod';
import { FlowSummary, flowStatuses } from '#conductor/api/flows.ts';
import { Fleet } from '#conductor/api/node-parts.ts';
import { pageOf } from '#conductor/api/values.ts';
import { listFlows } from '#conductor/flows/list-flows.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { nextPage, parsePaging } from '#conductor/http/paging.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { countNodes } from '#conductor/nodes/count-nodes.ts';

const path = '/v1/flows';
const route = routesOf("fleet (Baton's own)");

/** `a,b`: each one of these. */
function listOf<Word extends string>(known: readonly Word[]) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(known, { error: `must be some of ${known.join(', ')}, with commas between them` })))
    .optional();
}

const list = route.get(
  path,
  'List the flows under way, and those whose failure a node rests in; the oldest first',
  answers(200, 'flows', pageOf('flows', FlowSummary)),
  {
    query: z.strictObject({
      status: listOf(flowStatuses).describe(`some of ${flowStatuses.join(', ')}`),
      kind: listOf(Object.keys(flowKinds)).describe('deploy,clean: only flows of these kinds'),
      limit: z.string().optional(),
      marker: z.string().optional().describe('uuid of the last one of the page before'),
    }),
  },
);

const fleet = route.get('/v1/fleet', 'Count the nodes by provision state', answers(200, 'counts', Fleet));

/** `/v1/flows` and `/v1/fleet`. */
export function flowRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(list, async (c) => {
    const { status, kind, ...query } = c.req.valid('query');
    const paging = parsePaging(query);
    const filter = { statuses: status, kinds: kind, owner: c.get('caller').project };
    const flows = await listFlows(context, filter, paging);
    return c.json({ flows, ...nextPage(c, path, paging, flows) });
  });

  app.openapi(fleet, async (c) => {
    const states = await countNodes(context.db, c.get('caller').project);
    return c.json({
      nodes: states.reduce((sum, { nodes }) => sum + nodes, 0),
      in_maintenance: states.reduce((sum, { inMaintenance }) => sum + inMaintenance, 0),
      provision_states: Object.fromEntries(states.map(({ state, nodes }) => [state, nodes])),
    });
  });

  return app;
}
