import { z } from 'zod';
import { NodeNetwork } from '#conductor/api/node-network.ts';
import { readNodeNetwork } from '#conductor/flows/read-node-network.ts';
import { repairSwitchPorts } from '#conductor/flows/repair-switch-ports.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, queryFlag, routesOf } from '#conductor/http/define-routes.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

const route = routesOf("node networks (Baton's own)");

const show = route.get(
  '/v1/nodes/{node}/network',
  "Show where Baton has put the node's switch ports, and where they were found",
  answers(200, 'ports that Baton has set', NodeNetwork),
  {
    query: z.strictObject({ look: queryFlag.optional() }),
    description: 'With look=true the switches are read now; else found is what the last look found.',
  },
);

const repair = route.post(
  '/v1/nodes/{node}/network/repair',
  "Put the node's switch ports back where Baton has set them last",
  answers(204, 'done, and read back'),
);

/** `/v1/nodes/{node}/network`. */
export function nodeNetworkRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(show, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    return c.json({ ports: await readNodeNetwork(context, node, { look: c.req.valid('query').look ?? false }) });
  });

  app.openapi(repair, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await repairSwitchPorts(context, node, c.get('caller'));
    return c.body(null, 204);
  });

  return app;
}
