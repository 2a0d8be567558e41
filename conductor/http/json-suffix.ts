import type { MiddlewareHandler } from 'hono';
import type { ApiApp, ApiEnv } from '#conductor/http/api-app.ts';

/** Since it names may end in `.json`. */
const nameSince = 91;
const suffix = /\.json$/;

/**
 * Before 1.91, what is not found under `NAME.json` is looked for under `NAME`, as in Ironic. A path that is not found
 * changes nothing, so that asking again is safe.
 */
export function jsonSuffix(app: ApiApp): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    const { pathname } = new URL(c.req.url);
    if (c.get('version') >= nameSince || !suffix.test(pathname)) return next();
    // before anybody has read its body
    const again = c.req.raw.clone();
    await next();
    if (c.res.status !== 404) return undefined;
    const url = new URL(again.url);
    url.pathname = pathname.replace(suffix, '');
    c.res = await app.fetch(new Request(url, again), c.env);
    return undefined;
  };
}
