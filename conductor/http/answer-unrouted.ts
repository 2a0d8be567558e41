import type { Context } from 'hono';
import type { ApiApp, ApiEnv } from '#conductor/http/api-app.ts';
import { frameworkFault } from '#conductor/http/fault.ts';

/** What no route answers: 405 with the methods that the path has, or 404 for a path that has none. */
export function answerUnrouted(app: ApiApp): (c: Context<ApiEnv>) => Response {
  return (c) => {
    const methods = app.routes
      .filter(({ method, path }) => method !== 'ALL' && matches(path, c.req.path))
      .map(({ method }) => method);
    if (methods.length === 0) return frameworkFault(c, 404, '');
    c.header('Allow', [...new Set(methods)].sort((a, b) => a.localeCompare(b)).join(', '));
    return frameworkFault(c, 405, '');
  };
}

/** Whether a path is one of a route's, `/v1/nodes/:node` or `/images/*`. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  const isOpen = wanted.at(-1) === '*';
  if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return false;
  return wanted.every((segment, place) => segment === '*' || segment.startsWith(':') || segment === given[place]);
}
