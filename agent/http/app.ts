import { upgradeWebSocket } from '@hono/node-server';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { WebSocket } from 'ws';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import type { CommandRunner } from '#agent/commands/command-runner.ts';
import { type ConsoleOptions, serveConsole } from '#agent/console/serve-console.ts';
import { maxConfigDriveBytes, maxConfigDriveTextBytes } from '#agent/image/config-drive.ts';
import type { Say } from '#agent/say.ts';
import { agentVersion } from '#agent/version.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';
import type { Log } from '#shared/log.ts';
import { createJsonMeter } from '#shared/peers/json-answers.ts';
import { CommandRequest } from '#shared/wire/agent-calls.ts';
import { ConsoleQuery } from '#shared/wire/console.ts';

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

/** The documents of `GET /` and `GET /v1/` (captures/agent-api-responses.txt); `origin` without a trailing slash. */

const describedBy = {
  href: 'https://docs.openstack.org/ironic-python-agent/',
  rel: 'describedby',
  type: 'text/html',
} as const;

function rootDocument(origin: string): unknown {
  const version = { id: 'v1', links: [{ href: `${origin}/v1`, rel: 'self' }, describedBy] };
  return {
    name: 'OpenStack Ironic Python Agent API',
    description: "Baton's agent, which speaks the API of OpenStack Ironic's",
    versions: [version],
    default_version: version,
  };
}

function v1Document(origin: string): unknown {
  const links = (resource: string): unknown => [
    { href: `${origin}/v1/${resource}`, rel: 'self' },
    { href: `${origin}/${resource}`, rel: 'bookmark' },
  ];
  return {
    commands: links('commands'),
    status: links('status'),
    media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic-python-agent.v1+json' }],
    id: 'v1',
    links: [{ href: `${origin}/v1`, rel: 'self' }, describedBy],
  };
}

/** A step's arguments hold the config drive as text, and Ironic repeats it in `image_info`; the rest is small. */
const maxBodyBytes = 2 * maxConfigDriveTextBytes + 4 * 1024 * 1024;

const tooLarge =
  `413 Request Entity Too Large: a command may have ${Math.floor(maxBodyBytes / 1024 ** 2)} MiB; ` +
  `a config drive in it ${maxConfigDriveBytes / 1024 ** 2} MiB before base64`;

/** `/commands/` and `/commands/<id>` (agent-protocol.md §4). */
function commandsRoutes(commands: CommandRunner, token: () => string | undefined): Hono {
  const routes = new Hono();
  // not for all methods: a wrong method is reported before a missing token, as the real agent does it
  const authorised = requireToken(token);
  routes.get('/', authorised, (c) => c.json({ commands: commands.list() }));
  routes.post(
    '/',
    authorised,
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: (c) => faultAnswer(c, 413, tooLarge),
    }),
    async (c) => {
      const { name, params } = await readRequest(c);
      const started = await commands.start(name, params);
      return c.json(wantsToWait(c) ? await commands.wait(started.id) : started);
    },
  );
  routes.all('/', methodNotAllowed('HEAD, POST, GET'));
  routes.get('/:id', authorised, async (c) => {
    const id = c.req.param('id');
    return c.json(wantsToWait(c) ? await commands.wait(id) : commands.get(id));
  });
  routes.all('/:id', methodNotAllowed('HEAD, GET'));
  return routes;
}

/** A node with its ports, a step and its arguments is some hundred. */
const commandLimits = { bytes: maxBodyBytes, depth: 64, values: 200_000, code: 'invalid_argument' } as const;

async function readRequest(c: Context): Promise<CommandRequest> {
  const bytes = Buffer.from(await c.req.arrayBuffer());
  try {
    createJsonMeter('the command has', commandLimits).push(bytes);
  } catch (cause) {
    throw new AgentFault('InvalidContentError', (cause as Error).message, cause);
  }
  const body = parse(bytes.toString('utf8'));
  const request = CommandRequest.safeParse(body);
  if (!request.success) throw new AgentFault('InvalidContentError', 'Missing or invalid name or params');
  return request.data;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new AgentFault('InvalidContentError', `Failed to decode JSON object: ${(cause as Error).message}`, cause);
  }
}

function wantsToWait(c: Context): boolean {
  return c.req.query('wait')?.toLowerCase() === 'true';
}

/** Shells at a time. */
const maxConsoles = 4;

/**
 * `/console`: a shell for the conductor, as a WebSocket; Baton's own. Without a token there is none: anyone who reached the
 * agent would be root.
 */
function consoleRoutes(
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
    return faultAnswer(c, 400, describeIssues(query.error));
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

/**
 * Lets through what carries the agent token as the query parameter `agent_token`. `token()` is `undefined` only where
 * the API is too old to have tokens: then all may pass.
 */
function requireToken(token: () => string | undefined): MiddlewareHandler {
  return async (c, next) => {
    const expected = token();
    if (expected !== undefined && !isSameSecret(c.req.query('agent_token') ?? '', expected)) {
      return faultAnswer(c, 401, '401 Unauthorized: Token invalid.');
    }
    return next();
  };
}

/**
 * Every error body is flat and has a `faultstring`: Ironic's conductor searches in it for every status from 400 on
 * and crashes on null (agent-protocol.md §4).
 */
function faultAnswer(c: Context, status: ContentfulStatusCode, faultstring: string): Response {
  return c.json({ faultcode: status < 500 ? 'Client' : 'Server', faultstring }, status);
}

/** The edge: what a route threw becomes an answer. */
function answerError(error: Error, c: Context, log: Log): Response {
  if (error instanceof AgentFault) return faultAnswer(c, error.code, error.message);
  log.error({ err: error, path: c.req.path }, 'request failed');
  return faultAnswer(c, 500, errorChain(error));
}

function notFound(c: Context): Response {
  return faultAnswer(
    c,
    404,
    '404 Not Found: The requested URL was not found on the server. If you entered the URL manually please check ' +
      'your spelling and try again.',
  );
}

/** For a known path with a method that it doesn't have. */
function methodNotAllowed(allowed: string): (c: Context) => Response {
  return (c) => {
    c.header('Allow', allowed);
    return faultAnswer(c, 405, '405 Method Not Allowed: The method is not allowed for the requested URL.');
  };
}
