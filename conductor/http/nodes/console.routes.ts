import type { IncomingMessage } from 'node:http';
import { upgradeWebSocket } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { agentConsole } from '#conductor/agents/agent-console.ts';
import {
  type ConsoleRequest,
  requireConsoleAccess,
  requireSerialConsole,
  serialConsole,
} from '#conductor/agents/consoles.ts';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { ConsoleShell } from '#conductor/api/node-parts.ts';
import { ConsoleState } from '#conductor/api/service.ts';
import type { Access } from '#conductor/auth/access.ts';
import { accessRules } from '#conductor/auth/access-rules.ts';
import type { Authenticator } from '#conductor/auth/authenticator.ts';
import { judgeAccess } from '#conductor/auth/authorize.ts';
import type { Credentials } from '#conductor/auth/sessions.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { credentialsOf } from '#conductor/http/service/session.routes.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { findOwnership, type Ownership } from '#conductor/nodes/node-ownership.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { ConsoleQuery } from '#shared/wire/console.ts';

/**
 * Explains why a caller with an open console would not be given one now: tokens expire and are deleted, users leave, nodes
 * change hands.
 * @param ownershipOf asks the database whose the node is
 * @returns why not; `undefined` = they would.
 */
export async function whyForbidden(
  auth: Pick<Authenticator, 'unproven' | 'recall' | 'check'>,
  credentials: Credentials | undefined,
  ownershipOf: () => Promise<Ownership | undefined>,
): Promise<string | undefined> {
  if (auth.unproven) return undefined;
  const caller = credentials && (auth.recall(credentials) ?? (await check(auth, credentials)));
  if (caller === 'busy') return undefined;
  if (!caller) return 'the login has ended';
  const verdict = judgeAccess(consoleAccess(), caller, await ownershipOf());
  return verdict === 'allowed' ? undefined : 'the login has no right to this node any more';
}

/** Checks credentials; `busy` where so many passwords are being checked that this one has to wait. */
function check(auth: Pick<Authenticator, 'check'>, credentials: Credentials) {
  return auth.check(credentials).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'busy') return 'busy' as const;
    throw error;
  });
}

function consoleAccess(): Access {
  const access = accessRules.find((rule) => rule.policy === 'baton:node:console')?.access;
  if (access === undefined || access === 'public') throw new AppError('internal', 'consoles have no access rule');
  return access;
}

const route = routesOf('console');

const path = '/v1/nodes/{node}/states/console';

const show = route.get(
  path,
  'Say whether the serial console is enabled, and where it is',
  answers(200, 'the state, and the WebSocket where there is one', ConsoleState),
);

const set = route.put(path, 'Enable or disable the serial console; disabled, open ones end', answers(202, 'done'), {
  limits: 'usual',
  body: z.strictObject({ enabled: looseBoolean }),
});

/**
 * Serves `states/console`, which says whether a machine's serial console may be opened. The console is connected when
 * somebody opens it.
 */
export function consoleStateRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(show, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const url = `${originOf(c).replace(/^http/, 'ws')}/v1/nodes/${node.uuid}/console/serial`;
    return c.json({
      console_enabled: node.consoleEnabled,
      console_info: node.consoleEnabled ? { type: 'websocket' as const, url } : null,
    });
  });

  app.openapi(set, async (c) => {
    const ident = c.req.valid('param').node;
    const { enabled } = c.req.valid('json');
    const node = await getNode(context.db, ident);
    if (enabled) {
      requireSerialConsole(node);
      context.drivers.connect(node, { node: node.uuid });
    }
    if (enabled !== node.consoleEnabled) {
      const event = `serial console ${enabled ? 'enabled' : 'disabled'}`;
      const note = changeNote(context, c.get('caller'), event);
      await context.db.transaction(async (tx) => {
        await updateNode(tx, node.uuid, { consoleEnabled: enabled });
        await writeChangeNote(tx, node.uuid, note);
      });
    }
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states/console`);
    return c.body(null, 202);
  });
}

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
 * Serves `/v1/nodes/{node}/console/{shell,serial}`, which are Baton's own. A page of any site may open WebSockets to this
 * host from the operator's browser; those with a foreign `Origin` are refused before, as all requests are
 * (`admit-callers.ts`).
 */
export function consoleRoutes(app: ApiApp, context: HttpContext): void {
  const { auth, config } = context;

  const wanted = async (c: Context<ApiEnv>, kind: keyof typeof routes): Promise<ConsoleRequest> => {
    requireConsoleAccess(context.config);
    const query = ConsoleQuery.safeParse(c.req.query());
    if (!query.success) throw new AppError('invalid_argument', describeIssues(query.error));
    const node = await getNode(context.db, c.req.param('node') ?? '');
    const connect = () => context.drivers.connect(node, { node: node.uuid });
    const asked =
      kind === 'shell'
        ? await agentConsole(context, node.uuid, query.data)
        : serialConsole({ db: context.db, connect }, node, query.data);
    context.consoles.requireRoom(asked);
    const { user, project, ...ids } = c.get('caller');
    const by = `${user ?? 'somebody'} at ${remoteAddress(c)}`;
    return {
      ...asked,
      nodeUuid: node.uuid,
      by,
      user,
      project,
      ...requestIdsOf(ids),
      whyForbidden: async () => {
        // a browser's session may have ended meanwhile
        const credentials = auth.unproven ? undefined : await credentialsOf(c, { config, sessions: auth.sessions });
        return whyForbidden(auth, credentials, () => findOwnership(context.db, 'node', node.uuid));
      },
    };
  };

  for (const kind of ['shell', 'serial'] as const) {
    // the answer to a refused upgrade has a status and no text: a client that gets one asks again without upgrade
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
}

function remoteAddress(c: Context): string {
  const { incoming } = c.env as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress ?? 'an unknown address';
}
