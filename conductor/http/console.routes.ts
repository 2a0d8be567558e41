import type { IncomingMessage } from 'node:http';
import { upgradeWebSocket } from '@hono/node-server';
import { createRoute } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { WebSocket } from 'ws';
import { requireConsoleAccess } from '#conductor/agents/console/console-access.ts';
import { readConsoleOccasion } from '#conductor/agents/console/console-occasion.ts';
import type { ConsoleRequest } from '#conductor/agents/console/consoles.ts';
import { agentConsoleUrl } from '#conductor/agents/console/dial-agent.ts';
import { ConsoleShell } from '#conductor/api/node-parts.ts';
import { readCredentials } from '#conductor/auth/authenticator.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import { whyForbidden } from '#conductor/http/console-permission.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, NodeParams } from '#conductor/http/query-values.ts';
import { findOwnership } from '#conductor/nodes/node-ownership.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { ConsoleQuery } from '#shared/wire/console.ts';

const path = '/v1/nodes/{node}/console/shell';

const shell = createRoute({
  method: 'get',
  path,
  tags: ['console'],
  summary: "A shell in the node's ramdisk, as a WebSocket; a plain GET says whether there would be one (Baton's own)",
  request: { params: NodeParams, query: ConsoleQuery },
  responses: answers(200, 'there would be one', ConsoleShell),
});

/** `/v1/nodes/{node}/console/shell`: Baton's own. */
export function consoleRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  const wanted = async (c: Context<ApiEnv>): Promise<ConsoleRequest> => {
    requireConsoleAccess(context.config);
    requireNoBrowser(c);
    const query = ConsoleQuery.safeParse(c.req.query());
    if (!query.success) {
      const faults = query.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      throw new AppError('invalid_argument', faults.join('; '));
    }
    context.consoles.requireRoom();
    const node = await getNode(context.db, c.req.param('node') ?? '');
    const occasion = await readConsoleOccasion(context.db, node.uuid);
    agentConsoleUrl(occasion.session);
    const { user, project } = c.get('caller');
    const by = `${user ?? 'somebody'} at ${remoteAddress(c)}`;
    const credentials = context.auth.unproven ? undefined : readCredentials((name) => c.req.header(name));
    return {
      nodeUuid: node.uuid,
      occasion,
      query: query.data,
      by,
      user,
      project,
      whyForbidden: () => whyForbidden(context.auth, credentials, () => findOwnership(context.db, 'node', node.uuid)),
    };
  };

  // the answer to a refused upgrade has a status and no text: who gets one asks again without upgrade
  const upgrade: MiddlewareHandler = upgradeWebSocket(async (c) => {
    const request = await wanted(c);
    return {
      onOpen: (_event, { raw }) => {
        if (!(raw instanceof WebSocket)) throw new AppError('internal', 'the WebSocket is not from the package ws');
        void context.consoles.serve(raw, request);
      },
    };
  });
  app.get(path.replace('{node}', ':node'), (c, next) =>
    c.req.header('upgrade') === undefined ? next() : upgrade(c, next),
  );
  app.openapi(shell, async (c) => {
    const { occasion } = await wanted(c);
    return c.json({ console: 'available', during: occasion.stepName ?? null });
  });
  return app;
}

/**
 * A page of any site may open WebSockets to this host from the operator's browser, and no rule of the browser's keeps
 * it from reading the answers: with a console it would be root on the node.
 */
function requireNoBrowser(c: Context): void {
  if (c.req.header('origin') === undefined) return;
  throw new AppError('forbidden', 'Consoles are not for web pages: the request has an Origin header.');
}

function remoteAddress(c: Context): string {
  const { incoming } = c.env as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress ?? 'an unknown address';
}
