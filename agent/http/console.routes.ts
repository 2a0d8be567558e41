import { upgradeWebSocket } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { WebSocket } from 'ws';
import { type ConsoleOptions, serveConsole } from '#agent/console/serve-console.ts';
import { faultAnswer, notFound } from '#agent/http/fault-answer.ts';
import { requireToken } from '#agent/http/require-token.ts';
import type { Say } from '#agent/say.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { ConsoleQuery } from '#shared/wire/console.ts';

/** Shells at a time. */
const maxConsoles = 4;

/**
 * `/console`: a shell for the conductor, as a WebSocket; Baton's own. Without a token there is none: whoever reached the
 * agent would be root.
 */
export function consoleRoutes(
  options: ConsoleOptions & { readonly token: () => string | undefined; readonly say: Say },
): Hono {
  const open = new Set<WebSocket>();
  const routes = new Hono();
  routes.use('/', async (c, next) => (options.token() === undefined ? notFound(c) : next()));
  routes.use('/', requireToken(options.token));
  routes.use('/', async (c, next) => {
    if (open.size >= maxConsoles) return faultAnswer(c, 409, `Agent is busy: ${maxConsoles} consoles are open`);
    const query = ConsoleQuery.safeParse(c.req.query());
    if (query.success) return next();
    const faults = query.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    return faultAnswer(c, 400, faults.join('; '));
  });
  routes.get(
    '/',
    upgradeWebSocket((c) => {
      const query = ConsoleQuery.parse(c.req.query());
      return {
        onOpen: (_event, { raw }) => {
          if (!(raw instanceof WebSocket)) throw new AppError('internal', 'the WebSocket is not from the package ws');
          open.add(raw);
          options.say('a console was opened through the conductor');
          void serveConsole(raw, query, options).then(() => {
            open.delete(raw);
            options.say('a console was closed');
          });
        },
      };
    }),
    (c: Context) => faultAnswer(c, 426, '426 Upgrade Required: the console is a WebSocket'),
  );
  return routes;
}
