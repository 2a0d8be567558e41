import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { ApiApp, ApiEnv } from '#conductor/http/api-app.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

/** The POSTs of the API's own description that have no query, by their paths as routes have them. */
function readPosts(app: ApiApp): ReadonlySet<string> {
  return new Set(
    app.openAPIRegistry.definitions.flatMap((definition) => {
      if (definition.type !== 'route' || definition.route.method !== 'post') return [];
      const { path, request } = definition.route;
      return request?.query === undefined ? [path.replaceAll(/\{([^}]+)\}/g, ':$1')] : [];
    }),
  );
}
