import { type Context, Hono } from 'hono';
import type { CommandRunner } from '#agent/commands/command-runner.ts';
import type { ConsoleOptions } from '#agent/console/serve-console.ts';
import { commandsRoutes } from '#agent/http/commands.routes.ts';
import { consoleRoutes } from '#agent/http/console.routes.ts';
import { answerError, methodNotAllowed, notFound } from '#agent/http/fault-answer.ts';
import { rootDocument, v1Document } from '#agent/http/version-documents.ts';
import type { Say } from '#agent/say.ts';
import { agentVersion } from '#agent/version.ts';
import type { Log } from '#shared/log.ts';

/** The agent's API (agent-protocol.md §4). Every route exists with and without the `/v1` prefix. */
export function createApp(options: {
  readonly commands: CommandRunner;
  /** `undefined`: the conductor's API is too old to have tokens. */
  readonly token: () => string | undefined;
  readonly startedAt: Date;
  readonly log: Log;
  /** Without it there is no console. */
  readonly console?: (ConsoleOptions & { readonly say: Say }) | undefined;
}): Hono {
  const app = new Hono();
  const status = { started_at: options.startedAt.getTime() / 1000, version: agentVersion };
  const readOnly = methodNotAllowed('HEAD, GET');

  app.get('/', (c) => c.json(rootDocument(originOf(c))));
  app.all('/', readOnly);
  app.get('/v1/', (c) => c.json(v1Document(originOf(c))));
  app.all('/v1/', readOnly);
  app.all('/v1', redirectToSlash);
  for (const prefix of ['', '/v1']) {
    app.get(`${prefix}/status`, (c) => c.json(status));
    app.all(`${prefix}/status`, readOnly);
    app.all(`${prefix}/commands`, redirectToSlash);
    app.route(`${prefix}/commands/`, commandsRoutes(options.commands, options.token));
  }
  if (options.console) app.route('/v1/console', consoleRoutes({ ...options.console, token: options.token }));
  app.notFound(notFound);
  app.onError((error, c) => answerError(error, c, options.log));
  return app;
}

/** The canonical paths end in a slash; 308 keeps method and body, and we keep the query, which holds the token. */
function redirectToSlash(c: Context): Response {
  const url = new URL(c.req.url);
  url.pathname += '/';
  return c.redirect(url.toString(), 308);
}

function originOf(c: Context): string {
  return new URL(c.req.url).origin;
}
