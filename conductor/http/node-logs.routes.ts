import { z } from 'zod';
import { findAgentLogs } from '#conductor/agents/agent-log-store.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answersOther, routesOf } from '#conductor/http/define-routes.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("flows and plans (Baton's own)");

const show = route.get(
  '/v1/nodes/{node}/flow/logs',
  "Fetch the agent's logs of a flow that failed, a gzipped tar; the newest without `flow`",
  answersOther(200, 'the logs', 'application/gzip'),
  { query: z.strictObject({ flow: z.guid({ error: "must be a flow's UUID" }).optional() }) },
);

/** `/v1/nodes/{node}/flow/logs`: Baton's own. */
export function nodeLogRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  app.openapi(show, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const { flow } = c.req.valid('query');
    const logs = await findAgentLogs(context.db, node.uuid, flow?.toLowerCase());
    if (!logs) {
      const which = flow === undefined ? '' : ` of flow ${flow}`;
      throw new AppError(
        'not_found',
        `Node ${node.uuid} has no logs${which}: they are collected when a step fails and the agent still answers, and ` +
          "each node's last five are kept.",
      );
    }
    const time = logs.collectedAt.toISOString().replaceAll(/[-:]|\.\d+/g, '');
    return c.body(new Uint8Array(logs.content), 200, {
      'Content-Type': 'application/gzip',
      'Content-Disposition': `attachment; filename="${node.uuid}-${time}.tar.gz"`,
      ...(logs.flowUuid === null ? {} : { 'X-Baton-Flow': logs.flowUuid }),
    });
  });
  return app;
}
