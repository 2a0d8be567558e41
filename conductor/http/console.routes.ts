import type { IncomingMessage } from 'node:http';
import { upgradeWebSocket } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { WebSocket } from 'ws';
import { agentConsole } from '#conductor/agents/console/agent-console.ts';
import { requireConsoleAccess } from '#conductor/agents/console/console-access.ts';
import type { ConsoleRequest } from '#conductor/agents/console/consoles.ts';
import { serialConsole } from '#conductor/agents/console/serial-console.ts';
import { ConsoleShell } from '#conductor/api/node-parts.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import { whyForbidden } from '#conductor/http/console-permission.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { credentialsOf } from '#conductor/http/session-cookie.ts';
import { findOwnership } from '#conductor/nodes/node-ownership.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { ConsoleQuery } from '#shared/wire/console.ts';

const consoleRoute = <Kind extends 'shell' | 'serial'>(kind: Kind, what: string) =>
  routesOf('console').get(
    `/v1/nodes/{node}/console/${kind}`,
    `${what}, as a WebSocket; a plain GET says whether there would be one (Baton's own)`,
    answers(200, 'there would be one', ConsoleShell),
    { query: ConsoleQuery },
  );

const routes = {
  shell: consoleRoute('shell', "A shell in the node's ramdisk"),
  serial: consoleRoute('serial', "The machine's serial console, while it is enabled"),
} as const;

/**
 * `/v1/nodes/{node}/console/{shell,serial}`: Baton's own. A page of any site may open WebSockets to this host from the operator's
 * browser; those with a foreign `Origin` are refused before, as all requests are (`admit-callers.ts`).
 */
export function consoleRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const { auth, config } = context;

  const wanted = async (c: Context<ApiEnv>, kind: keyof typeof routes): Promise<ConsoleRequest> => {
    requireConsoleAccess(context.config);
    const query = ConsoleQuery.safeParse(c.req.query());
    if (!query.success) {
      const faults = query.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      throw new AppError('invalid_argument', faults.join('; '));
    }
    const node = await getNode(context.db, c.req.param('node') ?? '');
    const connect = () => context.drivers.connect(node, { node: node.uuid });
    const asked =
      kind === 'shell'
        ? await agentConsole(context, node.uuid, query.data)
        : serialConsole({ db: context.db, connect }, node, query.data);
    context.consoles.requireRoom(asked);
    const { user, project } = c.get('caller');
    const by = `${user ?? 'somebody'} at ${remoteAddress(c)}`;
    return {
      ...asked,
      nodeUuid: node.uuid,
      by,
      user,
      project,
      whyForbidden: async () => {
        // a browser's session may have ended meanwhile
        const credentials = auth.unproven ? undefined : await credentialsOf(c, { config, sessions: auth.sessions });
        return whyForbidden(auth, credentials, () => findOwnership(context.db, 'node', node.uuid));
      },
    };
  };

  for (const kind of ['shell', 'serial'] as const) {
    // the answer to a refused upgrade has a status and no text: who gets one asks again without upgrade
    const upgrade: MiddlewareHandler = upgradeWebSocket(async (c) => {
      const request = await wanted(c, kind);
      return {
        onOpen: (_event, { raw }) => {
          if (!(raw instanceof WebSocket)) throw new AppError('internal', 'the WebSocket is not from the package ws');
          void context.consoles.serve(raw, request);
        },
      };
    });
    app.get(`/v1/nodes/:node/console/${kind}`, (c, next) =>
      c.req.header('upgrade') === undefined ? next() : upgrade(c, next),
    );
    app.openapi(routes[kind], async (c) => {
      const { during } = await wanted(c, kind);
      return c.json({ console: 'available', during: during ?? null });
    });
  }
  return app;
}

function remoteAddress(c: Context): string {
  const { incoming } = c.env as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress ?? 'an unknown address';
}
