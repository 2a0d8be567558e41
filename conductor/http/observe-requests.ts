import { randomUUID } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import type { Caller } from '#conductor/kernel/caller.ts';

/** What machines do by themselves, again and again. */
const routine = /^\/(v1\/(heartbeat|lookup|neighbours|progress)|boot|healthz|readyz|metrics)\b/;

/**
 * Gives each request an id, and counts and logs it when it has been answered: what changes something at `info`, reads
 * and machines' routine at `debug`. Queries and bodies are not logged: they hold secrets.
 */
export function observeRequests(context: Pick<HttpContext, 'log' | 'metrics'>): MiddlewareHandler<ApiEnv> {
  const { log, metrics } = context;
  return async (c, next) => {
    const started = performance.now();
    const requestId = `req-${randomUUID()}`;
    c.set('requestId', requestId);
    await next();
    // not `c.header`, which copies the answer and its body
    c.res.headers.set('X-OpenStack-Request-ID', requestId);
    const ms = performance.now() - started;
    const { method, path } = c.req;
    const { status } = c.res;
    const route = patternOf(c);
    metrics.httpSeconds.observe({ method: knownMethod(method), route, status }, ms / 1000);
    const level = method === 'GET' || method === 'HEAD' || routine.test(path) ? 'debug' : 'info';
    // unknown where it was refused before anybody asked who it is
    const user = (c.get('caller') as Caller | undefined)?.user;
    log[level]({ method, path, route, status, durationMs: Math.round(ms), requestId, user }, 'request');
  };
}

/** The pattern of the path, whose number is bounded, where the path's is not. */
function patternOf(c: Parameters<typeof matchedRoutes>[0]): string {
  return matchedRoutes(c).findLast(({ path }) => !path.endsWith('*'))?.path ?? 'none';
}

/** Anybody can send any word as a method. */
function knownMethod(method: string): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other';
}
