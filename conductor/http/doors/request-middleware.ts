import { randomUUID } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { copyRequest } from '#conductor/http/doors/body-parts.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import type { ApiApp } from '#conductor/http/routing/define-routes.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { loggedIds, readGlobalId } from '#conductor/model/request-ids.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Paths that machines call by themselves, again and again. */
const routine = /^\/(v1\/(attestations|heartbeat|lookup|neighbours|progress)|boot|healthz|readyz|metrics)\b/;

/** Files: the board's and documentation's own, images, and what machines boot. */
const mayBeKept = /^\/(board|docs|images|media|boot|openapi\.json)(\/|$)/;

/**
 * Gives each request an id, and counts and logs it when it has been answered: what changes something at `info`, reads
 * and machines' routine at `debug`. Queries and bodies are not logged: they hold secrets.
 */
export function observeRequests(context: Pick<HttpContext, 'log' | 'metrics'>): MiddlewareHandler<ApiEnv> {
  const { log, metrics } = context;
  return async (c, next) => {
    const started = performance.now();
    const requestId = `req-${randomUUID()}`;
    const globalRequestId = readGlobalId(c.req.header('X-OpenStack-Request-ID'));
    c.set('requestId', requestId);
    c.set('globalRequestId', globalRequestId);
    await next();
    // not `c.header`, which copies the answer and its body
    // Ironic's own name is the second; since 1.107 it sends the first as well, whatever the version in use
    for (const name of ['X-OpenStack-Request-ID', 'OpenStack-Request-ID']) c.res.headers.set(name, requestId);
    c.res.headers.set('X-Content-Type-Options', 'nosniff');
    // logins and secrets are among what callers are answered
    if (!c.res.headers.has('Cache-Control') && !mayBeKept.test(c.req.path))
      c.res.headers.set('Cache-Control', 'no-store');
    const ms = performance.now() - started;
    const { method, path } = c.req;
    const { status } = c.res;
    const route = patternOf(c);
    metrics.httpSeconds.observe({ method: knownMethod(method), route, status }, ms / 1000);
    const ids = loggedIds({ requestId, globalRequestId });
    const level = method === 'GET' || method === 'HEAD' || routine.test(path) ? 'debug' : 'info';
    // unknown where a request was refused before its login was checked
    const user = (c.get('caller') as Caller | undefined)?.user;
    log[level]({ method, path, route, status, durationMs: Math.round(ms), ...ids, user }, 'request');
  };
}

/** Returns the pattern of the path: there is a bounded number of patterns, while callers may send any path. */
function patternOf(c: Parameters<typeof matchedRoutes>[0]): string {
  return matchedRoutes(c).findLast(({ path }) => !path.endsWith('*'))?.path ?? 'none';
}

/** Names the method if it is a known one: anybody can send any word as a method. */
function knownMethod(method: string): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other';
}

/** The API version from which on names may end in `.json`. */
const nameSince = 91;
const suffix = /\.json$/;

/**
 * Looks for `NAME` where `NAME.json` is not found, before 1.91, as Ironic does. A path that is not found changes nothing, so
 * that asking again is safe.
 */
export function jsonSuffix(app: ApiApp): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { pathname } = new URL(c.req.url);
    if (c.get('version') >= nameSince || !suffix.test(pathname)) return next();
    const again = copyRequest(c);
    await next();
    if (c.res.status !== 404) return undefined;
    const url = new URL(again.url);
    url.pathname = pathname.replace(suffix, '');
    c.res = await app.fetch(new Request(url, again), c.env);
    return undefined;
  };
}

/**
 * Refuses query parameters of a POST that has none, as schemas do elsewhere: `?dry_run=true` must not be overlooked by an
 * operation that acts.
 * @throws AppError `invalid_argument` naming them.
 */
export function refuseUnknownQuery(app: ApiApp): MiddlewareHandler<ApiEnv> {
  let withoutQuery: ReadonlySet<string> | undefined;
  return async (c, next) => {
    if (c.req.method === 'POST' && c.req.url.includes('?')) {
      withoutQuery ??= readPosts(app);
      const takesNone = matchedRoutes(c).some(({ path }) => withoutQuery?.has(path));
      const names = Object.keys(c.req.query());
      if (takesNone && names.length > 0) {
        throw new AppError('invalid_argument', `Unexpected arguments: ${names.join(', ')}`);
      }
    }
    await next();
  };
}

/** Reads the POSTs of the API's own description that have no query, by their paths as routes have them. */
function readPosts(app: ApiApp): ReadonlySet<string> {
  return new Set(
    app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route' || definition.route.method !== 'post') return [];
      const { path, request } = definition.route;
      return request?.query === undefined ? [path.replaceAll(/\{([^}]+)\}/g, ':$1')] : [];
    }),
  );
}

/**
 * Refuses text that PostgreSQL can't store, in a request's address or JSON body, before anything is done with it.
 * @throws AppError `invalid_argument` naming the field.
 */
export async function requireStorableText(c: Context<ApiEnv>): Promise<void> {
  if (/%00/.test(c.req.url)) throw new AppError('invalid_argument', 'The address contains the character U+0000.');
  // no other form of JSON has them; the reader of a text looks for itself
  if (!(c.get('hasEscapes') as boolean | undefined)) return;
  const fault = unstorableField(await c.req.json().catch(() => undefined), []);
  if (fault !== undefined) throw new AppError('invalid_argument', fault);
}

function unstorableField(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value === 'string') return refusal(value, path.join('.') || 'body');
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = refusal(key, `a key of ${path.join('.') || 'body'}`) ?? unstorableField(item, [...path, key]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function refusal(text: string, where: string): string | undefined {
  if (text.includes('\0')) return `${where}: the character U+0000 can't be stored`;
  return text.isWellFormed() ? undefined : `${where}: a lone surrogate is not text and can't be stored`;
}
